import { describe, expect, it } from 'vitest';
import { lintGraph } from '../../../src/graph/lint.ts';
import { registryWith } from '../../../src/nodes/index.ts';

const registry = registryWith();

type Nodes = Readonly<
  Record<string, { readonly type: string; readonly params?: object; readonly exits?: Readonly<Record<string, string>> }>
>;

/** The warnings of a graph that starts with its first node. */
function warningsOf(nodes: Nodes): readonly string[] {
  const edges = Object.entries(nodes).map(([name, { type: typeName, params = {}, exits = {} }]) => {
    const type = registry.get(typeName);
    const reading = type?.read(params);
    if (!type || !reading?.ok) throw new Error(`${name} is invalid`);
    const targets = new Map(Object.entries(exits));
    return [name, { type: typeName, exits: type.exits, targets, output: type.output(reading.value) }] as const;
  });
  return [...lintGraph(Object.keys(nodes)[0] ?? '', new Map(edges))];
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

  it('is none when the answer is held, or nothing is added to it', () => {
    const held = { type: 'Generate', params: { hold: true }, exits: { default: 'judge' } };
    expect(warningsOf({ answer: held, judge: judge('line'), line })).toEqual([]);
    const streamed = { ...answer, exits: { default: 'judge' } };
    const detect = { type: 'ToolCall', params: { tools } };
    expect(warningsOf({ answer: streamed, judge: judge('detect'), detect })).toEqual([]);
  });

  it('is none when the message is checked', () => {
    const guard = { type: 'Guardrail', params: { inline_strings: ['a'] }, exits: { triggered: 'line' } };
    expect(warningsOf({ answer: { ...answer, exits: { default: 'guard' } }, guard, line })).toEqual([]);
  });
});
