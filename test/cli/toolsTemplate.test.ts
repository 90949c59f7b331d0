import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProbeVerdict } from '../../src/chat/dialect/layout.ts';
import { namedJsonTemplate, taggedTemplate, toollessTemplate, unescapedTemplate } from '../helpers/dialectTemplates.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
const pathOf = (name: string): string => join(folder, name);
const templates = {
  tagged: taggedTemplate,
  named: namedJsonTemplate,
  unescaped: unescapedTemplate,
  toolless: toollessTemplate,
  broken: '{% for message in messages %}\n{{ message.content }}\n{% if message %}{% endfor %}',
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-template-'));
  for (const [name, text] of Object.entries(templates)) await writeFile(pathOf(`${name}.jinja`), text);
});
afterAll(() => rm(folder, { recursive: true }));

/** What `tools formats --json` prints of a template. */
interface PrintedFormat {
  readonly format: string;
  readonly notation: string | null;
  readonly proved: boolean;
  readonly because: string;
  readonly probes: readonly ProbeVerdict[];
}

const formats = (...args: readonly string[]) => runCommand(['tools', 'formats', ...args]);

async function formatOf(template: keyof typeof templates): Promise<PrintedFormat> {
  const { out, err, code } = await formats('--template', pathOf(`${template}.jinja`), '--json');
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return JSON.parse(out) as PrintedFormat;
}

describe('turngraph tools formats --template', () => {
  it.each([
    ['tagged', 'native', 'tagged'],
    ['named', 'native', 'named json'],
  ] as const)('proves the layout of a template: %s', async (template, format, notation) => {
    const printed = await formatOf(template);
    expect(Object.keys(printed)).toEqual(['format', 'notation', 'proved', 'because', 'probes']);
    expect(printed).toMatchObject({ format, notation, proved: true });
    expect(printed.probes.filter(({ required, ok }) => required && !ok)).toEqual([]);
    expect(printed.probes).toContainEqual({ name: 'two calls in one message', required: true, ok: true, why: '' });
  });

  it('names the probe for which a format is not used, and falls back to chatml', async () => {
    const printed = await formatOf('unescaped');
    expect(printed).toMatchObject({ format: 'chatml', notation: null, proved: false });
    expect(printed.because).toContain('a string with quotes');
    const failed = printed.probes.filter(({ required, ok }) => required && !ok);
    expect(failed.map(({ name }) => name)).toEqual(['a string with quotes', 'a string with line breaks']);
    expect(failed[0]?.why).toContain('is read as no call');
  });

  it('says of a template without tools that it knows none', async () => {
    const printed = await formatOf('toolless');
    expect(printed).toMatchObject({ format: 'chatml', proved: false });
    expect(printed.because).toContain('knows no tools');
  });

  it('shows an example call, the failed probes and the limits', async () => {
    const { out } = await formats('--template', pathOf('tagged.jinja'));
    expect(out.replaceAll(folder, '')).toMatchInlineSnapshot(`
      "/tagged.jinja: native (its chat template has a layout of its own, which proved itself)
          notation     tagged
          a call       <act>
                       <do=<function-name>>
                       <with=<argument-name>>
                       <value>
                       </with>
                       </do>
                       </act>
          reasoning    <muse> ... </muse>, <think> ... </think>, [THINK] ... [/THINK]

      Probes that are ok
          one call, a call of another tool, two calls in one message, a call without arguments,
          a string with quotes, a string with line breaks, a string that is not ASCII, an integer,
          a negative integer, a fraction, true, false, null, a list, an object, text before a call,
          reasoning before a call, a result after a call, a string with an apostrophe,
          a string with a backslash, a string with "<act>", a string that looks like null,
          a string that looks like a number, a string with white space at its ends,
          a string with line breaks at its ends, a message without calls

      Limits: the format is used all the same
          a string with "</with>": is refused by the grammar: "<act>\\n<do=lamp_zq_tool>\\n<with=alpha_zq>\\nZqword </with> twelve\\n</with>\\n</do>\\n</act><|end|>\\n"
      "
    `);
    const failed = (await formats('--template', pathOf('unescaped.jinja'))).out;
    expect(failed.slice(failed.indexOf('\nFailed'))).toMatchInlineSnapshot(`
      "
      Failed probes: the format is not used
          a string with quotes: is read as no call: "<act>{\\"name\\": \\"lamp_zq_tool\\", \\"arguments\\": {\\"alpha_zq\\": \\"Zqword \\"six\\" said\\"}}</act><|end|>\\n"
          a string with line breaks: is refused by the grammar: "<act>{\\"name\\": \\"lamp_zq_tool\\", \\"arguments\\": {\\"alpha_zq\\": \\"Zqword\\nseven\\n\\n  eight\\"}}</act><|end|>\\n"

      Other probes that failed
          a string with a backslash: is read as lamp_zq_tool {"alpha_zq":"Zqword \\n eleven"}: "<act>{\\"name\\": \\"lamp_zq_tool\\", \\"arguments\\": {\\"alpha_zq\\": \\"Zqword \\\\n eleven\\"}}</act><|end|>\\n"
          a string with line breaks at its ends: is refused by the grammar: "<act>{\\"name\\": \\"lamp_zq_tool\\", \\"arguments\\": {\\"alpha_zq\\": \\"\\nZqword eleven\\n\\"}}</act><|end|>\\n"
      "
    `);
  });

  it.each([
    ['a template that does not parse', () => ['--template', pathOf('broken.jinja')], 1, 'broken.jinja: line 3'],
    ['a file that is not there', () => ['--template', pathOf('absent.jinja')], 1, 'absent.jinja'],
    ['a model and a template', () => ['--template', 'a', '--model', 'b'], 2, '--model and --template'],
    ['neither', () => [], 2, '--model or --template is needed'],
  ])('rejects %s', async (_, args, expected, why) => {
    const { out, err, code } = await formats(...args());
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});

describe('turngraph tools parse --template', () => {
  const call = '<act>lamp<with>{"on": true}</act>';
  const parse = (input: string, ...args: readonly string[]) => runCommand(['tools', 'parse', ...args], input);
  const parseLines = (...lines: readonly object[]) =>
    parse(lines.map((line) => JSON.stringify(line)).join('\n'), '--jsonl');

  it("reads calls as the template's model writes them", async () => {
    const { out } = await parse(`<muse>a lamp?</muse>At once.${call}`, '--template', pathOf('named.jinja'));
    expect(JSON.parse(out)).toEqual({
      calls: [{ name: 'lamp', arguments: { on: true }, raw: expect.any(String), known: null, repaired: false }],
      residual: '<muse>a lamp?</muse>At once.',
      truncated: false,
      content: 'At once.',
      reasoning: 'a lamp?',
    });
  });

  it('reads lines, each with the template of its model', async () => {
    const dial = {
      type: 'function',
      function: {
        name: 'dial',
        description: 'Dials.',
        parameters: { type: 'object', properties: { number: { type: 'string' }, times: { type: 'integer' } } },
      },
    };
    const dialed = '<act>\n<do=dial>\n<with=number>\n112\n</with>\n<with=times>\n2\n</with>\n</do>\n</act>';
    const [named, tagged] = [pathOf('named.jinja'), pathOf('tagged.jinja')];
    const { out, err } = await parseLines(
      { template: tagged, text: dialed, tools: [dial] },
      { template: named, text: `no lamp</muse>${call}`, opened: '<muse>', tools: ['door'] },
      { template: named, text: '<muse>a</muse>Hi.', reasoning_format: 'none' },
      { template: named, text: '```json\n{"name": "lamp"}\n```', response_format: { type: 'object' } },
      { template: tagged, format: 'chatml', text: '<tool_call>{"name": "f", "arguments": {}}</tool_call>' },
      { format: 'chatml', text: 'Hi.', id: 'an unknown field' },
    );
    expect(err).toBe('');
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([
      { calls: [{ name: 'dial', arguments: { number: '112', times: 2 }, known: true }], content: '' },
      { calls: [{ name: 'lamp', known: false }], content: '', reasoning: 'no lamp' },
      { calls: [], content: '<muse>a</muse>Hi.', reasoning: '' },
      { calls: [], content: '{"name": "lamp"}' },
      { calls: [{ name: 'f', known: null }] },
      { calls: [], content: 'Hi.', reasoning: '' },
    ]);
  });

  it.each([
    ['a text that is none', { text: 3 }, 'line 2: text must be a string, not 3'],
    ['no text', {}, 'line 2: text is missing'],
    ['a wrong tool', { text: '', tools: [{ function: { name: 1 } }] }, 'line 2: tools/0/function/name must be a name'],
    [
      'wrong parameters',
      { text: '', tools: [{ name: 'f', parameters: { properties: [] } }] },
      'line 2: tools/0/parameters/properties must be an object of JSON Schemas',
    ],
    ['a wrong reasoning_format', { text: '', reasoning_format: 'nune' }, 'did you mean "none"?'],
    ['neither format nor template', { text: '', format: undefined }, 'line 2: format and template are missing'],
    ['a template that is not there', { text: '', template: 'absent.jinja' }, 'absent.jinja'],
  ])('names the line and the field of %s', async (_, line, message) => {
    const { err, code } = await parseLines({ format: 'chatml', text: '' }, { format: 'chatml', ...line });
    expect(err).toContain(message);
    expect(code).toBe(1);
  });

  it('rejects a format that the template does not have', async () => {
    const { err, code } = await parse('', '--template', pathOf('toolless.jinja'), '--format', 'native');
    expect(err).toContain('native is read off a chat template');
    expect(code).toBe(2);
  });
});

describe('turngraph tools render --template', () => {
  const tools = [{ name: 'set_lamp', description: 'Turn it on.', parameters: [{ name: 'on', type: 'boolean' }] }];
  const graph = { start_node: 'detect', nodes: { detect: { type: 'ToolCall', params: { tools } } } };
  const render = async (...args: readonly string[]) => {
    await writeFile(pathOf('graph.json'), JSON.stringify(graph));
    const flags = ['--graph', pathOf('graph.json'), '--node', 'detect', '--message', 'Shine!'];
    return runCommand(['tools', 'render', ...flags, ...args]);
  };

  it('lets a template that proves a format place the tools', async () => {
    const { out, code } = await render('--template', pathOf('named.jinja'));
    expect({ out, code }).toMatchInlineSnapshot(`
      {
        "code": 0,
        "out": "<|system|>Tools:
      {"name": "set_lamp", "description": "Turn it on.", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}<|end|>
      <|user|>Shine!<|end|>
      <|assistant|>",
      }
    `);
  });

  it('writes the tools as text in another format, and in the default one for a template that knows none', async () => {
    const other = await render('--template', pathOf('named.jinja'), '--format', 'generic');
    expect(other.out).toContain('You can call tools.');
    expect(other.err).toContain('the model was trained on native');
    const { out } = await render('--template', pathOf('toolless.jinja'));
    expect(out).toContain('within <tool_call></tool_call> XML tags');
  });

  it.each([
    ['a template that does not parse', () => ['--template', pathOf('broken.jinja')], 1, 'broken.jinja: line 3'],
    ['a model and a template', () => ['--template', 'a', '--model', 'b'], 2, '--model and --template'],
  ])('rejects %s', async (_, args, expected, why) => {
    const { out, err, code } = await render(...args());
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});
