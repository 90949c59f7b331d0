import { describe, expect, it } from 'vitest';
import { analyseNode, lintGraph } from '../../../../src/graph/compile/analysis.ts';
import { type NodeEffects, defineNode } from '../../../../src/graph/compile/node.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';

const registry = registryWith();

type Nodes = Readonly<
  Record<string, { readonly type: string; readonly params?: object; readonly exits?: Readonly<Record<string, string>> }>
>;

/** The warnings of a graph that starts with its first node. */
function warningsOf(nodes: Nodes, types = registry): readonly string[] {
  const analysed = Object.entries(nodes).map(([name, { type: typeName, params = {}, exits = {} }]) => {
    const type = types.get(typeName);
    const reading = type?.read(params);
    if (!type || !reading?.ok) throw new Error(`${name} is invalid`);
    const targets = new Map(Object.entries(exits).filter(([, target]) => target !== ''));
    const valid = reading.value;
    const all = type.exits(valid, [...targets.keys()]);
    return [name, analyseNode(name, { type, exits: all, targets }, type.effects(valid, all))] as const;
  });
  return [...lintGraph(Object.keys(nodes)[0] ?? '', new Map(analysed))];
}

const tools = [{ name: 'jump', description: 'Jumps.', parameters: [] }];
const answer = { type: 'Generate' };
const line = { type: 'CannedResponse', params: { inline_strings: ['No.'] } };
const judge = (triggered: string): Nodes[string] => ({
  type: 'Guardrail',
  params: { inline_strings: ['secret'], watch: 'answer' },
  exits: { triggered },
});

describe('a turn without a word', () => {
  const warning =
    'detect.exits.no_tool_called can end a turn in which the client gets neither a text nor a call; lead it to a node that answers';

  it('is a warning where a ToolCall that called nothing ends it', () => {
    expect(warningsOf({ detect: { type: 'ToolCall', params: { tools } } })).toEqual([warning]);
  });

  it('is a warning where only nodes that route follow', () => {
    const nodes = {
      detect: { type: 'ToolCall', params: { tools }, exits: { no_tool_called: 'guard' } },
      guard: { type: 'Guardrail', params: { inline_strings: ['a'] }, exits: { triggered: 'line' } },
      line,
    };
    expect(warningsOf(nodes)).toEqual([warning]);
  });

  it('is a warning where a node ends it that only routes', () => {
    const guard = { type: 'Guardrail', params: { inline_strings: ['a'] } };
    expect(
      warningsOf({ guard: { ...guard, exits: { triggered: 'line', not_triggered: 'next' } }, line, next: guard }),
    ).toEqual(
      ['triggered', 'not_triggered'].map(
        (exit) =>
          `next.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`,
      ),
    );
    expect(
      warningsOf({ guard: { ...guard, exits: { triggered: 'line', not_triggered: 'answer' } }, line, answer }),
    ).toEqual([]);
  });

  it.each<[string, Nodes]>([
    ['answers itself', { detect: { type: 'ToolCall', params: { tools, generate_on_no_tool: true } } }],
    ['has to call', { detect: { type: 'ToolCall', params: { tools, tool_choice: 'required' } } }],
    [
      'leads to an answer',
      { detect: { type: 'ToolCall', params: { tools }, exits: { no_tool_called: 'answer' } }, answer },
    ],
    [
      'comes after an answer',
      { answer: { ...answer, exits: { default: 'detect' } }, detect: { type: 'ToolCall', params: { tools } } },
    ],
  ])('is none where a ToolCall %s', (_, nodes) => {
    expect(warningsOf(nodes)).toEqual([]);
  });
});

describe('an answer that is checked after it was sent', () => {
  it.each([[{}], [{ stream: false }]])('is a warning, with the parameters %j', (params) => {
    const nodes = { answer: { type: 'Generate', params, exits: { default: 'judge' } }, judge: judge('line'), line };
    expect(warningsOf(nodes)).toEqual([
      'judge checks the answer of answer after it was sent: the client gets it, and the text of line as well; set answer.params.hold',
    ]);
  });

  it.each<[string, Nodes]>([
    ['nothing follows the check', { judge: judge('') }],
    ['only nodes that route follow', { judge: judge('guard'), guard: { type: 'Guardrail' } }],
  ])('is a warning where %s', (_, nodes) => {
    const edges = { answer: { ...answer, exits: { default: 'judge' } }, ...nodes };
    expect(warningsOf(edges)).toEqual([
      'judge checks the answer of answer after it was sent: the client keeps it, whatever is found; set answer.params.hold, and lead judge.exits.triggered to what replaces it',
    ]);
  });

  it('names no parameter that the node does not have', () => {
    const detect = {
      type: 'ToolCall',
      params: { tools, generate_on_no_tool: true },
      exits: { no_tool_called: 'judge' },
    };
    expect(warningsOf({ detect, judge: judge('line'), line })).toEqual([
      'judge checks the answer of detect after it was sent: the client gets it, and the text of line as well; let a node with "hold" answer instead of detect',
    ]);
  });

  it('is none when the answer is held, or the check decides on a call', () => {
    const held = { type: 'Generate', params: { hold: true }, exits: { default: 'judge' } };
    expect(warningsOf({ answer: held, judge: judge('line'), line })).toEqual([]);
    const streamed = { ...answer, exits: { default: 'judge' } };
    const detect = { type: 'ToolCall', params: { tools } };
    expect(warningsOf({ answer: streamed, judge: judge('detect'), detect })).toEqual([]);
  });

  it('is none when the check only decides whether the turn goes on', () => {
    const asked = { ...judge(''), exits: { not_triggered: 'answer' } };
    expect(warningsOf({ ask: { ...line, exits: { default: 'asked' } }, asked, answer })).toEqual([]);
  });

  it('is none when the message is checked', () => {
    const guard = { type: 'Guardrail', params: { inline_strings: ['a'] }, exits: { triggered: 'line' } };
    expect(warningsOf({ answer: { ...answer, exits: { default: 'guard' } }, guard, line })).toEqual([]);
  });
});

describe('a held answer', () => {
  const held = (next: string): Nodes[string] => ({
    type: 'Generate',
    params: { hold: true },
    exits: { default: next },
  });
  const warning =
    'answer holds its answer back, and no Guardrail checks it: the client only gets it later; remove answer.params.hold, or let a Guardrail with "watch": "answer" follow';

  it.each<[string, Nodes]>([
    ['nothing follows', { answer: held('') }],
    [
      'a Guardrail checks the message',
      {
        answer: held('guard'),
        guard: { type: 'Guardrail', params: { inline_strings: ['a'] }, exits: { triggered: 'line' } },
        line,
      },
    ],
    ['the check comes before it', { judge: judge('answer'), answer: held('') }],
  ])('is a warning where %s', (_, nodes) => {
    expect(warningsOf(nodes)).toContain(warning);
  });

  it('is none where a Guardrail checks it, also after other nodes', () => {
    const detect = { type: 'ToolCall', params: { tools }, exits: { tool_called: 'judge', no_tool_called: 'judge' } };
    expect(warningsOf({ answer: held('judge'), judge: judge('line'), line })).toEqual([]);
    expect(warningsOf({ answer: held('detect'), detect, judge: judge('line'), line })).toEqual([]);
  });
});

describe('an exit that is never taken', () => {
  const detect = (params: object, exits: Readonly<Record<string, string>>): Nodes[string] => ({
    type: 'ToolCall',
    params: { tools, ...params },
    exits,
  });
  const both = { tool_called: 'answer', no_tool_called: 'answer' };

  it('does not count among those that all lead to one place', () => {
    const warning = 'detect.exits all lead to "answer": what this ToolCall finds out changes nothing';
    const silent = { notify_client: false };
    expect(warningsOf({ detect: detect(silent, both), answer })).toEqual([warning]);
    expect(warningsOf({ detect: detect({ ...silent, min_confidence: 0.5 }, both), answer })).not.toContain(warning);
  });

  it('is no end of a loop', () => {
    const loop = { tool_called: 'detect', no_tool_called: 'detect' };
    const warning = 'detect: no exit ends the turn from there; only the step budget will (max_steps_per_turn)';
    expect(warningsOf({ detect: detect({}, loop) })).toContain(warning);
    expect(warningsOf({ detect: detect({ await_results: true }, loop) })).not.toContain(warning);
  });

  it('ends no turn without a word', () => {
    const ask = defineNode({
      type: 'Ask',
      summary: 'Asks.',
      params: {
        type: 'object',
        additionalProperties: false,
        properties: { unused: { type: 'array', items: { type: 'string' } } },
      },
      exits: ['asked', 'refused'],
      effects: ({ unused = [] }) => ({ silentExits: ['refused'], unusedExits: unused }),
      create: () => Promise.resolve({ run: () => Promise.resolve('asked' as const) }),
    });
    const types = registryWith({ nodeTypes: [ask] });
    const warnings = (unused: readonly string[]) => warningsOf({ ask: { type: 'Ask', params: { unused } } }, types);
    expect(warnings([])).toEqual([expect.stringMatching(/^ask\.exits\.refused can end a turn/)]);
    expect(warnings(['refused'])).toEqual([]);
  });

  it('still leads to its node, for the parameter is live', () => {
    const exits = { no_tool_called: 'answer', no_results: 'line' };
    expect(warningsOf({ detect: detect({}, exits), answer, line })).toEqual([]);
  });
});

describe('exits that all lead to one node', () => {
  const selector = (effects: NodeEffects) =>
    defineNode({
      type: 'Selector',
      summary: 'Selects.',
      params: { type: 'object', additionalProperties: false, properties: {} },
      exits: ['yes', 'no'],
      effects: () => effects,
      create: () => Promise.resolve({ run: () => Promise.resolve('yes' as const) }),
    });
  const nodes = { select: { type: 'Selector', exits: { yes: 'answer', no: 'answer' } }, answer };

  it.each([
    ['is a warning', {}, ['select.exits all lead to "answer": what this Selector finds out changes nothing']],
    ['is none where the turn tells later nodes what the node finds out', { informsLaterNodes: true }, []],
    ['is none where the client gets something on one of them', { silentExits: ['no'] }, []],
  ])('%s', (_, effects, warnings) => {
    const types = registryWith({ nodeTypes: [selector({ silentExits: ['yes', 'no'], ...effects })] });
    expect(warningsOf(nodes, types)).toEqual(warnings);
  });

  it.each<[string, Nodes[string]]>([
    ['a ToolCall that notifies the client', { type: 'ToolCall', params: { tools } }],
    ['a ToolCall that answers itself', { type: 'ToolCall', params: { tools, generate_on_no_tool: true } }],
    ['a Guardrail whose message is forgotten', { type: 'Guardrail', params: { inline_strings: ['a'], forget: true } }],
    ['a line that may be missing', { type: 'CannedResponse', params: { inline_strings: ['a'], key: 'b' } }],
  ])('is no warning for %s', (_, node) => {
    const exits = { ToolCall: 'tool_called no_tool_called', Guardrail: 'triggered not_triggered' }[node.type];
    const targets = (exits ?? 'default missing').split(' ').map((exit) => [exit, 'answer']);
    expect(warningsOf({ act: { ...node, exits: Object.fromEntries(targets) }, answer })).toEqual([]);
  });
});
