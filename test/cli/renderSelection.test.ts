import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
const pathOf = (name: string): string => join(folder, name);

const subjects = ['lamp', 'door', 'oven', 'music'];
const verbs = ['check', 'start', 'stop'];
const tools = subjects.flatMap((subject) =>
  verbs.map((verb) => ({ name: `${verb}_${subject}`, description: `Will ${verb} the ${subject}.`, parameters: [] })),
);
const guidelines = subjects.map((subject) => ({
  name: subject,
  when: `the user speaks of the ${subject}`,
  patterns: [subject],
  tools: verbs.map((verb) => `${verb}_${subject}`),
  action: `Think of the ${subject}.`,
}));
const graphOf = (params: object, detect: object = {}) => ({
  default_model_name: 'turngraph-demo',
  start_node: 'greet',
  nodes: {
    greet: {
      type: 'Guardrail',
      params: { inline_strings: ['hello'] },
      exits: { triggered: 'talk', not_triggered: 'select' },
    },
    select: {
      type: 'SelectTools',
      params: { guidelines, ...params },
      exits: { matched: 'route', none_matched: 'talk' },
    },
    route: {
      type: 'Guardrail',
      params: { inline_strings: ['!'] },
      exits: { triggered: 'detect', not_triggered: 'detect' },
    },
    detect: {
      type: 'ToolCall',
      params: { tools, tools_from: 'selection', ...detect },
      exits: { no_tool_called: 'talk' },
    },
    // It declares a tool that a guideline may name, too.
    talk: { type: 'ToolCall', params: { tools: [{ name: 'sing', description: 'Sings.' }], tool_choice: 'none' } },
  },
});
const shop = {
  default_model_name: '',
  start_node: 'sell',
  nodes: {
    sell: {
      type: 'ToolCall',
      params: {
        tools: [
          {
            name: 'sell',
            description: 'Sells.',
            parameters: [{ name: 'item', type: 'string', enum_from: 'inventory' }],
          },
        ],
      },
    },
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-render-'));
  const named = [...guidelines, { name: 'song', patterns: ['song'], tools: ['sing'] }];
  await writeFile(pathOf('patterns.json'), JSON.stringify(graphOf({ guidelines: named })));
  await writeFile(pathOf('model.json'), JSON.stringify(graphOf({ match: 'model' })));
  await writeFile(pathOf('alone.json'), JSON.stringify({ ...graphOf({}), start_node: 'detect' }));
  await writeFile(pathOf('shop.json'), JSON.stringify(shop));
  await writeFile(pathOf('chat.jinja'), '{% for message in messages %}{{ message.content }}{% endfor %}');
});
afterAll(() => rm(folder, { recursive: true }));

const render = (graph: string, node: string, message: string, ...args: readonly string[]) =>
  runCommand(['tools', 'render', '--graph', pathOf(graph), '--node', node, '--message', message, ...args]);
/** For tests that need no model. */
const renderWithTemplate = (graph: string, message: string, ...args: readonly string[]) =>
  render(graph, 'detect', message, '--template', pathOf('chat.jinja'), ...args);
const namesIn = (out: string): readonly string[] => tools.map(({ name }) => name).filter((name) => out.includes(name));
const tokensIn = (err: string): number => Number(/^about (\d+) tokens$/m.exec(err)?.[1] ?? NaN);

describe('turngraph tools render, of a node that offers selected tools', () => {
  it('shows of 12 tools behind 4 guidelines only those that are matched, and the tokens that it saves', async () => {
    const one = await render('patterns.json', 'detect', 'Start the oven.', '--tokens');
    expect(one.code).toBe(0);
    expect(namesIn(one.out)).toEqual(['check_oven', 'start_oven', 'stop_oven']);
    expect(one.err).toContain('"select" selects check_oven (oven), start_oven (oven), stop_oven (oven)\n');
    expect(one.err).not.toContain('warning');
    const all = await render('patterns.json', 'detect', 'A lamp, a door, music, the oven.', '--tokens');
    expect(all.err).toContain('max_tools');
    expect(namesIn(all.out)).toHaveLength(8);
    expect(tokensIn(one.err)).toBeGreaterThan(50);
    expect(tokensIn(all.err) - tokensIn(one.err)).toBeGreaterThan(50);
  });

  it('counts all tokens of a long message', async () => {
    const { err } = await render('patterns.json', 'detect', `Start the oven. ${'word '.repeat(3000)}`, '--tokens');
    // Each word has a token of its own.
    expect(tokensIn(err)).toBeGreaterThan(3000);
  });

  it('says why nothing is shown where no tool is selected', async () => {
    const { out, err, code } = await renderWithTemplate('patterns.json', 'Good morning.');
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain('"select" selects no tool\n');
    expect(err).toContain(
      '"detect" asks no model for this message: no tool is selected for it; name the guidelines that hold with --guideline',
    );
    const other = await renderWithTemplate('patterns.json', 'A song!');
    expect(other.err).toContain('"detect" asks no model for this message: of its tools none is offered in this turn');
  });

  it('takes the guidelines that are named, whatever the message says', async () => {
    const args = ['Good morning.', '--guideline', 'music', '--guideline', 'lamp'] as const;
    // The second one has a model, which is not asked.
    for (const shown of [renderWithTemplate('patterns.json', ...args), render('model.json', 'detect', ...args)]) {
      const { out, err } = await shown;
      const named = guidelines.filter(({ name }) => name === 'lamp' || name === 'music');
      expect(namesIn(out)).toEqual(named.flatMap((guideline) => guideline.tools));
      expect(err).toContain('start_music (music)');
    }
  });

  it('lets the model decide which guidelines hold', async () => {
    const { out, err, code } = await render(
      'model.json',
      'detect',
      'Please start the oven.',
      '--model',
      'turngraph-demo',
    );
    expect(err).toMatch(/^"select" selects /m);
    // What it finds is its own affair.
    if (code === 0) expect(namesIn(out).length).toBeGreaterThan(0);
    else expect(err).toContain('no tool is selected for it');
  });

  it('asks for the guidelines where no model can decide', async () => {
    const { out, err, code } = await renderWithTemplate('model.json', 'Oven!');
    expect({ out, code }).toEqual({ out: '', code: 2 });
    expect(err).toContain(
      '"select" lets a model decide which guidelines hold, and there is none; name them with --guideline, or a model on disk with --model',
    );
  });

  it.each([
    ['patterns.json', 'detect', ['--guideline', 'lmap'], '"select" has no guideline "lmap"; did you mean "lamp"?'],
    ['shop.json', 'sell', ['--guideline', 'lamp'], 'no node that selects tools leads to "sell"'],
    ['shop.json', 'constructor', [], 'the graph has no node "constructor"'],
    ['shop.json', 'sell', ['--tokens'], '--tokens needs a model on disk'],
  ])('rejects flags that fit nothing, in %s', async (graph, node, args, why) => {
    const { out, err, code } = await render(graph, node, 'Hi.', ...args);
    expect({ out, code }).toEqual({ out: '', code: 2 });
    expect(err).toContain(why);
  });
});

describe('turngraph tools render, of a tool with enum_from', () => {
  it('shows the values of --var', async () => {
    const { out } = await render('shop.json', 'sell', 'Hi.', '--var', 'inventory=["rope","lamp"]');
    expect(out).toContain('"enum": ["rope", "lamp"]');
    expect(out).not.toContain('enum_from');
  });

  it('says why the tool is left out', async () => {
    const { out, err, code } = await render('shop.json', 'sell', 'Hi.');
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain('warning: sell leaves out the tool sell in this turn: its parameter item takes its values');
    expect(err).toContain('"sell" asks no model for this message');
  });
});
