import { describe, expect, it } from 'vitest';
import { auditDocument, type GraphAudit } from '../../../../src/cli/audit/audit.ts';
import { auditProperties, formatPath, type AuditProperty } from '../../../../src/cli/audit/guardProofs.ts';
import { graphSchema } from '../../../../src/graph/compile/document.ts';
import { defineNode, routingEffects, type NodeEffects } from '../../../../src/graph/compile/node.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { createReader } from '../../../../src/protocol/schema.ts';
import { createList } from '../../../../src/graph/storage/stringStorage.ts';

type Nodes = Readonly<
  Record<string, { readonly type: string; readonly params?: object; readonly exits?: Readonly<Record<string, string>> }>
>;

const readGraph = createReader(graphSchema);
const storages = new Map([
  ['none', createList([])],
  ['bad', createList(['bad'])],
  ['telling', createList(['Fine.', '{{#tool_calls}}{{arguments.item}}{{/tool_calls}}'])],
]);

/** Audits a graph that starts with its first node. */
function audit(nodes: Nodes, registry = registryWith()): Promise<GraphAudit> {
  const reading = readGraph({ start_node: Object.keys(nodes)[0] ?? '', nodes });
  if (!reading.ok) throw new Error('no graph');
  return auditDocument(reading.value, registry, (name) => {
    const storage = storages.get(name);
    return storage ? Promise.resolve(storage) : Promise.reject(new Error(`no storage ${name}`));
  });
}

/** What is refuted of some nodes, with the path that shows it; or the nodes that it is about, where there is none. */
async function refuted(nodes: Nodes, registry = registryWith()): Promise<Partial<Record<AuditProperty, string>>> {
  const { properties } = await audit(nodes, registry);
  const entries = auditProperties.flatMap((name) => {
    const verdict = properties[name];
    return verdict.proven ? [] : [[name, formatPath(verdict.path) || verdict.nodes.join(', ')]];
  });
  return Object.fromEntries(entries) as Partial<Record<AuditProperty, string>>;
}

const guard = (exits: Nodes[string]['exits'], params: object = { inline_strings: ['bad'] }): Nodes[string] => ({
  type: 'Guardrail',
  params,
  exits: exits ?? {},
});
const judge = (exits: Nodes[string]['exits']): Nodes[string] =>
  guard(exits, { inline_strings: ['bad'], watch: 'answer' });
const held = (next: string): Nodes[string] => ({ type: 'Generate', params: { hold: true }, exits: { default: next } });
/** Holds an answer with a field of text. */
const noted = (next: string): Nodes[string] => {
  const mood = { name: 'mood', type: 'enum', values: ['calm', 'angry'] };
  const answer_fields = [mood, { name: 'say', type: 'speech' }, { name: 'note', type: 'text' }];
  return { type: 'Generate', params: { hold: true, answer_fields }, exits: { default: next } };
};
const line = (text = 'No.', next = ''): Nodes[string] => ({
  type: 'CannedResponse',
  params: { inline_strings: [text] },
  exits: { default: next },
});
const tools = [{ name: 'give', description: 'Gives.', parameters: [{ name: 'item', type: 'string' }] }];
const detect = (exits: Nodes[string]['exits'], params: object = {}): Nodes[string] => ({
  type: 'ToolCall',
  params: { tools, ...params },
  exits: exits ?? {},
});
const route = (exits: Nodes[string]['exits'], params: object): Nodes[string] => ({
  type: 'Route',
  params: { labels: [{ name: 'a', patterns: ['a'] }, { name: 'b' }], ...params },
  exits: exits ?? {},
});

describe('the message', () => {
  it.each<[string, Nodes, string | undefined]>([
    ['a Guardrail at the start', { guard: guard({ not_triggered: 'talk' }), talk: held('') }, undefined],
    ['no model at all', { line: line() }, undefined],
    ['no Guardrail', { talk: held('') }, 'talk'],
    [
      'a Guardrail that is left by triggered',
      { guard: guard({ triggered: 'talk' }), talk: held('') },
      'guard -[triggered]-> talk',
    ],
    [
      'a Guardrail on another branch',
      {
        sort: route({ a: 'guard', not_matched: 'talk' }, { match: 'patterns' }),
        guard: guard({ not_triggered: 'talk' }),
        talk: held(''),
      },
      'sort -[not_matched]-> talk',
    ],
    ['a model that routes to the Guardrail', { sort: route({ a: 'guard' }, {}), guard: guard({}) }, 'sort'],
    [
      'a model that selects tools before it',
      {
        select: {
          type: 'SelectTools',
          params: { match: 'model', guidelines: [{ name: 'x', when: 'y', tools: [] }] },
          exits: { matched: 'guard' },
        },
        guard: guard({}),
      },
      'select',
    ],
    ['a Guardrail after the model', { talk: held('guard'), guard: guard({}) }, 'talk'],
    [
      'a Guardrail that watches the answer',
      { judge: judge({ not_triggered: 'talk' }), talk: held('') },
      'judge -[not_triggered]-> talk',
    ],
    [
      'a Guardrail without patterns',
      { guard: guard({ not_triggered: 'talk' }, {}), talk: held('') },
      'guard -[not_triggered]-> talk',
    ],
    [
      'a Guardrail with an empty storage',
      { guard: guard({ not_triggered: 'talk' }, { string_storage: 'none' }), talk: held('') },
      'guard -[not_triggered]-> talk',
    ],
    [
      'a Guardrail with a storage that has a pattern',
      { guard: guard({ not_triggered: 'talk' }, { string_storage: 'bad' }), talk: held('') },
      undefined,
    ],
    [
      'a loop that comes back to the Guardrail by its other exit',
      {
        sort: route({ a: 'guard', not_matched: 'note' }, { match: 'patterns' }),
        guard: guard({ triggered: 'note' }),
        note: line('Hm.', 'again'),
        again: guard({ triggered: 'guard', not_triggered: 'talk' }, { inline_strings: ['b'] }),
        talk: held(''),
      },
      undefined,
    ],
    [
      'a ToolCall that offers nothing and says nothing',
      { detect: detect({ no_tool_called: 'line' }, { tool_choice: 'none' }), line: line() },
      undefined,
    ],
    [
      'a ToolCall that offers nothing and answers',
      { detect: detect({}, { tool_choice: 'none', generate_on_no_tool: true }) },
      'detect',
    ],
  ])('with %s', async (_, nodes, path) => {
    expect((await refuted(nodes)).message).toBe(path);
  });

  it('names why a Guardrail on the path does not count', async () => {
    const nodes = {
      empty: guard({ not_triggered: 'judge' }, {}),
      judge: judge({ not_triggered: 'guard' }),
      guard: guard({ triggered: 'talk' }),
      talk: held(''),
    };
    expect((await audit(nodes)).properties.message).toMatchObject({
      reason:
        'talk runs a model, and no Guardrail has let the message pass before; empty has no patterns and lets every text pass; judge watches the answer; the path leaves guard by triggered',
    });
  });
});

describe('the answer', () => {
  it.each<[string, Nodes, string | undefined]>([
    ['it is held and checked', { talk: held('judge'), judge: judge({ triggered: 'line' }), line: line() }, undefined],
    ['it is held and always replaced', { talk: held('line'), line: line() }, undefined],
    [
      'it is only for the next prompt',
      { detect: detect({}, { spoken: '{{#tool_calls}}{{name}}{{/tool_calls}}' }) },
      undefined,
    ],
    ['it is streamed', { talk: { type: 'Generate', exits: { default: 'judge' } }, judge: judge({}) }, 'talk'],
    ['it is sent in one frame', { talk: { type: 'Generate', params: { stream: false } } }, 'talk'],
    ['it is held and not checked', { talk: held('') }, 'talk -[default]-> (end of the turn)'],
    [
      'the check comes first',
      { judge: judge({ not_triggered: 'talk' }), talk: held('') },
      'judge -[not_triggered]-> talk -[default]-> (end of the turn)',
    ],
    [
      'the check is of the message',
      { talk: held('guard'), guard: guard({}) },
      'talk -[default]-> guard -[triggered]-> (end of the turn)',
    ],
    [
      'what the check finds is sent',
      { talk: held('judge'), judge: judge({}) },
      'talk -[default]-> judge -[triggered]-> (end of the turn)',
    ],
    [
      'a second text replaces the checked one',
      { one: held('judge'), judge: judge({ triggered: 'line', not_triggered: 'two' }), two: held(''), line: line() },
      'one -[default]-> judge -[not_triggered]-> two -[default]-> (end of the turn)',
    ],
    [
      'a second text goes back to the check',
      {
        one: held('judge'),
        judge: judge({ triggered: 'two' }),
        two: held('judge'),
      },
      undefined,
    ],
    [
      'a loop skips the check the second time',
      {
        talk: held('sort'),
        sort: route({ a: 'judge' }, { match: 'patterns' }),
        judge: judge({ triggered: 'line', not_triggered: 'talk' }),
        line: line(),
      },
      'talk -[default]-> sort -[not_matched]-> (end of the turn)',
    ],
    [
      'a ToolCall answers beside a held text',
      {
        talk: held('judge'),
        judge: judge({ triggered: 'line', not_triggered: 'detect' }),
        detect: detect({}, { generate_on_no_tool: true }),
        line: line(),
      },
      'talk -[default]-> judge -[not_triggered]-> detect -[no_tool_called]-> (end of the turn)',
    ],
    [
      'a ToolCall that streams sends text before its call',
      {
        talk: held('judge'),
        judge: judge({ triggered: 'line', not_triggered: 'detect' }),
        detect: detect({ no_tool_called: 'line' }, { generate_on_no_tool: true, stream: true }),
        line: line(),
      },
      'talk -[default]-> judge -[not_triggered]-> detect',
    ],
    [
      'a line replaces it after a ToolCall without an answer',
      { talk: held('detect'), detect: detect({ tool_called: 'line', no_tool_called: 'line' }), line: line() },
      undefined,
    ],
    [
      'results that do not come in time end the turn',
      {
        talk: held('detect'),
        detect: detect({ tool_called: 'line', no_tool_called: 'line' }, { await_results: true }),
        line: line(),
      },
      'talk -[default]-> detect -[no_results]-> (end of the turn)',
    ],
    [
      'a line shows the arguments of a call',
      { detect: detect({ tool_called: 'line' }), line: line('{{#tool_calls}}{{arguments.item}}{{/tool_calls}}') },
      'detect -[tool_called]-> line',
    ],
    [
      'a line of a storage shows them',
      {
        detect: detect({ no_tool_called: 'line' }),
        line: { type: 'CannedResponse', params: { string_storage: 'telling' } },
      },
      'detect -[no_tool_called]-> line',
    ],
    [
      'a line would show them, and there are none yet',
      { line: line('{{#tool_calls}}{{name}}{{/tool_calls}}', 'detect'), detect: detect({}) },
      undefined,
    ],
    [
      'a line shows results of the game',
      {
        detect: detect({ tool_called: 'line' }, { await_results: true }),
        line: line('{{#tool_results}}{{#ok}}{{content}}{{/ok}}{{/tool_results}}'),
      },
      undefined,
    ],
    ...['{{fields.note}}', '{{{ fields.note }}}', '{{fields}}', '{{#fields}}{{note}}{{/fields}}', '{{.}}'].map(
      (text): [string, Nodes, string] => [
        `a line shows a field of text of the answer that it replaces: ${text}`,
        { talk: noted('judge'), judge: judge({ triggered: 'line' }), line: line(text) },
        'talk -[default]-> judge -[triggered]-> line',
      ],
    ),
    ...['{{fields.mood}}', '{{#fields.note}}Noted.{{/fields.note}}', '{{note}}'].map(
      (text): [string, Nodes, undefined] => [
        `a line shows no field of text: ${text}`,
        { talk: noted('judge'), judge: judge({ triggered: 'line' }), line: line(text) },
        undefined,
      ],
    ),
    [
      'a line would show a field, and there is none yet',
      { line: line('{{fields.note}}', 'talk'), talk: noted('end'), end: line() },
      undefined,
    ],
  ])('where %s', async (_, nodes, path) => {
    expect((await refuted(nodes)).answer).toBe(path);
  });

  it('names the field that a line shows', async () => {
    expect((await audit({ talk: noted('line'), line: line('{{fields.note}}') })).properties.answer).toMatchObject({
      reason: 'line sends a line that may show what a model wrote in the field "note" of talk',
      fix: 'leave the field "note" out of the lines of line',
    });
  });

  it('names the node that holds the text, and why the check does not count', async () => {
    const nodes = { judge: judge({ not_triggered: 'talk' }), talk: held('') };
    expect((await audit(nodes)).properties.answer).toMatchObject({
      reason:
        'what talk holds back is sent at the end of the turn, and no Guardrail has let it pass; judge comes too early: it watched another text',
      nodes: ['talk'],
    });
  });

  it.each([
    [
      'Generate',
      { talk: { type: 'Generate' } },
      'set talk.params.hold, and let a Guardrail with "watch": "answer" follow',
    ],
    [
      'ToolCall',
      { detect: detect({}, { generate_on_no_tool: true }) },
      'let a node with "hold" answer instead of detect, and a Guardrail with "watch": "answer" follow',
    ],
  ])('names a fix that %s has', async (_, nodes, fix) => {
    expect((await audit(nodes)).properties.answer).toMatchObject({ fix });
  });
});

describe('a loop', () => {
  it.each<[string, Nodes, string | undefined]>([
    ['of calls is bounded', { detect: detect({ tool_called: 'detect' }) }, undefined],
    [
      'of results that do not come is bounded',
      { detect: detect({ no_results: 'detect' }, { await_results: true }) },
      undefined,
    ],
    [
      'of a ToolCall that called nothing is not',
      { detect: detect({ no_tool_called: 'detect' }) },
      'detect -[no_tool_called]-> detect',
    ],
    [
      'of checked answers is not',
      { talk: held('judge'), judge: judge({ triggered: 'talk' }) },
      'talk -[default]-> judge -[triggered]-> talk',
    ],
    [
      'that is entered by a call is shown with its entrance',
      { detect: detect({ tool_called: 'one' }), one: line('1', 'two'), two: line('2', 'one') },
      'detect -[tool_called]-> one -[default]-> two -[default]-> one',
    ],
    ['by an exit that is never taken is none', { detect: detect({ no_results: 'detect' }) }, undefined],
    ['of a Guardrail that never triggers is none', { guard: guard({ triggered: 'guard' }, {}) }, undefined],
    ['that no path enters is none', { line: line(), one: line('1', 'two'), two: line('2', 'one') }, undefined],
    [
      'of two ToolCalls is bounded by either',
      {
        one: detect({ tool_called: 'two', no_tool_called: 'two' }),
        two: detect({ tool_called: 'one' }),
      },
      undefined,
    ],
  ])('%s', async (_, nodes, path) => {
    expect((await refuted(nodes)).bounded).toBe(path);
  });
});

describe('a node that cannot be reached', () => {
  it('is one that no exit leads to, or only an exit that is never taken', async () => {
    const nodes = {
      sort: route({ a: 'line', b: 'never' }, { match: 'patterns' }),
      line: line(),
      never: line('Never.'),
      lost: line('Lost.', 'line'),
    };
    expect(await refuted(nodes)).toEqual({ reachable: 'never, lost' });
    expect((await audit(nodes)).properties.reachable).toMatchObject({
      reason: 'never and lost are reached by no path from the start; sort never takes its exit b with its parameters',
    });
  });

  it('is one behind a case of a Branch that an earlier case takes first', async () => {
    const late = { hp: 0 };
    const cases = [
      { exit: 'dead', when: late },
      { exit: 'again', when: late },
      { exit: 'otherwise', when: {} },
      { exit: 'dead', when: { hp: 1 } },
      { exit: 'late', when: { hp: 2 } },
    ];
    const exits = { dead: 'line', again: 'again', otherwise: 'rest', late: 'late' };
    const ask: Nodes[string] = { type: 'Branch', params: { cases }, exits };
    const nodes = { ask, line: line(), again: line(), rest: line(), late: line() };
    expect(await refuted(nodes)).toEqual({ reachable: 'again, late' });
  });
});

describe('the tools of an audit', () => {
  const namesOf = async (nodes: Nodes) =>
    (await audit(nodes)).tools.map(({ node, tool }) => `${node}: ${tool?.name ?? 'other'}`);
  const both = [...tools, { name: 'take', description: 'Takes.' }];

  it.each<[string, Nodes, readonly string[]]>([
    ['all that are declared, and any other name', { detect: detect({}) }, ['detect: give', 'detect: other']],
    [
      'only those that are declared, where calls are strict',
      { detect: detect({}, { strict: true }) },
      ['detect: give'],
    ],
    [
      'only those that are declared, where a call has to be',
      { detect: detect({}, { tool_choice: 'required' }) },
      ['detect: give'],
    ],
    ['the one that is chosen', { detect: detect({}, { tools: both, tool_choice: 'take' }) }, ['detect: take']],
    [
      'all, where the choice ends with the first result',
      { detect: detect({ tool_called: 'detect' }, { tools: both, tool_choice: 'take', await_results: true }) },
      ['detect: give', 'detect: take', 'detect: other'],
    ],
    ['none, where none is offered', { detect: detect({}, { tool_choice: 'none' }) }, []],
    ['none of a node that cannot be reached', { line: line(), detect: detect({}) }, []],
  ])('are %s', async (_, nodes, names) => {
    expect(await namesOf(nodes)).toEqual(names);
  });

  it('have all Guardrails that every path passes, or those of which every path passes one', async () => {
    const guardsOf = async (nodes: Nodes) =>
      (await audit(nodes)).tools.map(({ guards, passes }) => ({ guards, passes }))[0];
    const message = (node: string) => ({ node, watch: 'message' });
    const strict = detect({}, { strict: true });
    expect(
      await guardsOf({ one: guard({ not_triggered: 'two' }), two: guard({ not_triggered: 'detect' }), detect: strict }),
    ).toEqual({
      guards: [message('one'), message('two')],
      passes: 'all',
    });
    const branches = {
      sort: route({ a: 'one', not_matched: 'two' }, { match: 'patterns' }),
      one: guard({ not_triggered: 'detect' }),
      two: guard({ not_triggered: 'detect' }),
      detect: strict,
    };
    expect(await guardsOf(branches)).toEqual({ guards: [message('one'), message('two')], passes: 'one' });
    expect(await guardsOf({ ...branches, two: guard({ triggered: 'detect' }) })).toEqual({ guards: [], passes: 'all' });
    expect(await guardsOf({ talk: held('judge'), judge: judge({ not_triggered: 'detect' }), detect: strict })).toEqual({
      guards: [{ node: 'judge', watch: 'answer' }],
      passes: 'all',
    });
  });
});

describe('a node type of an extension', () => {
  const withEffects = (effects?: () => NodeEffects) =>
    registryWith({
      nodeTypes: [
        defineNode({
          type: 'Own',
          summary: 'A node of an extension.',
          params: { type: 'object', additionalProperties: false, properties: {} },
          exits: ['yes', 'no'],
          ...(effects && { effects }),
          create: () => Promise.resolve({ run: () => Promise.resolve<'yes' | 'no'>('yes') }),
        }),
      ],
    });
  const nodes = {
    guard: guard({ not_triggered: 'own' }),
    own: { type: 'Own', exits: { yes: 'line', no: 'own' } },
    line: line(),
  };
  const unguarded = { own: nodes.own, line: line() };

  it('does the worst where it declares nothing', async () => {
    const registry = withEffects();
    expect(await refuted(nodes, registry)).toEqual({
      answer: 'guard -[not_triggered]-> own',
      bounded: 'guard -[not_triggered]-> own -[no]-> own',
    });
    expect(await refuted(unguarded, registry)).toMatchObject({ message: 'own', answer: 'own' });
    const { tools: known, undeclaredTypes, properties } = await audit(nodes, registry);
    expect(known).toEqual([
      { node: 'own', tool: undefined, guards: [{ node: 'guard', watch: 'message' }], passes: 'all' },
    ]);
    expect(undeclaredTypes).toEqual(['Own']);
    expect(properties.answer).toMatchObject({ fix: 'declare the effects of the node type Own' });
  });

  it('does only what it declares', async () => {
    const effects = { ...routingEffects, limitedExits: ['no'] };
    expect(
      await refuted(
        unguarded,
        withEffects(() => effects),
      ),
    ).toEqual({});
    expect(
      (
        await audit(
          unguarded,
          withEffects(() => effects),
        )
      ).undeclaredTypes,
    ).toEqual([]);
  });

  it('guards what it declares', async () => {
    const registry = withEffects(() => ({ ...routingEffects, guards: { watch: 'message', exit: 'yes', patterns: 1 } }));
    const guarded = { own: { type: 'Own', exits: { yes: 'talk', no: 'line' } }, talk: held('line'), line: line() };
    expect(await refuted(guarded, registry)).toEqual({});
    const other = { ...guarded, own: { type: 'Own', exits: { no: 'talk', yes: 'line' } } };
    expect(await refuted(other, registry)).toEqual({ message: 'own -[no]-> talk' });
  });

  it.each<[keyof NodeEffects, string]>([
    ['infers', 'message'],
    ['sends', 'answer'],
    ['held', 'answer'],
    ['showsCalls', 'answer'],
  ])('does the worst of %s where that effect is missing', async (effect, property) => {
    const { [effect]: _, ...rest } = { ...routingEffects, limitedExits: ['no'] } as NodeEffects;
    const before = { detect: detect({ tool_called: 'own' }), own: { type: 'Own', exits: { yes: '', no: '' } } };
    const start = effect === 'showsCalls' ? { guard: guard({ not_triggered: 'detect' }), ...before } : unguardedEnd;
    expect(
      Object.keys(
        await refuted(
          start,
          withEffects(() => rest),
        ),
      ),
    ).toEqual([property]);
  });
  const unguardedEnd = { own: { type: 'Own', exits: {} } };

  it.each<[object, string]>([
    [{ sends: ['default'] }, 'effects.sends of the node type Own names an exit that the node does not have: "default"'],
    [
      { limitedExits: ['yes', 'on'] },
      'effects.limitedExits of the node type Own names an exit that the node does not have: "on"',
    ],
    [
      { guards: { watch: 'message', exit: 'pass', patterns: 1 } },
      'effects.guards.exit of the node type Own names an exit that the node does not have: "pass"',
    ],
    [{ held: 'discard' }, 'effects.held of the node type Own must be one of kept, discarded, replaced'],
  ])('must not declare %j', async (mistake, message) => {
    const registry = withEffects(() => ({ ...routingEffects, ...mistake }) as NodeEffects);
    await expect(audit(unguarded, registry)).rejects.toThrow(new TypeError(message));
  });

  it('does the worst where an effect is undefined', async () => {
    const registry = withEffects(() => ({ ...routingEffects, sends: undefined }) as unknown as NodeEffects);
    expect(await refuted({ own: { type: 'Own' } }, registry)).toEqual({ answer: 'own' });
  });
});

describe('the node types', () => {
  it('all declare their effects', () => {
    const params: Readonly<Record<string, object>> = {
      ToolCall: { tools },
      CannedResponse: { inline_strings: ['No.'] },
      Route: { labels: [{ name: 'a' }] },
      Branch: { cases: [{ exit: 'a', when: {} }] },
      SelectTools: { guidelines: [] },
      Remember: { string_storage: 'memories' },
    };
    const complete = ['infers', 'sends', 'showsCalls', 'held', 'tools'];
    for (const type of registryWith().values()) {
      const reading = type.read(params[type.type] ?? {});
      if (!reading.ok) throw new Error(`no parameters for ${type.type}`);
      const effects = type.effects(reading.value, type.exits(reading.value, [])) ?? {};
      expect({ type: type.type, effects: Object.keys(effects) }).toEqual({
        type: type.type,
        effects: expect.arrayContaining(complete) as unknown,
      });
    }
  });
});
