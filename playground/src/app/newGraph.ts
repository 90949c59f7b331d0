/** What a new graph begins with. */
export interface GraphStart {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly startNode: string;
  readonly nodes: Readonly<Record<string, object>>;
}

const answer = { type: 'Generate', params: { system_prompt: 'You are a helpful assistant. Be brief.' } };
const guard = (next: string): object => ({
  type: 'Guardrail',
  params: { inline_strings: ['ignore (all )?(previous|earlier) instructions'] },
  exits: { triggered: 'refuse', not_triggered: next },
});
const refuse = { type: 'CannedResponse', params: { inline_strings: ["I can't help with that."] } };
const detect = {
  type: 'ToolCall',
  params: {
    tools: [
      {
        name: 'set_light',
        description: 'Turn a named light on or off.',
        parameters: [
          { name: 'name', type: 'string', description: 'Which light.' },
          { name: 'on', type: 'boolean', description: 'true to turn it on.' },
        ],
      },
    ],
  },
  exits: { no_tool_called: 'answer' },
};

/** The graphs that a new one can begin with. */
export const graphStarts: readonly GraphStart[] = [
  {
    id: 'answer',
    label: 'An answer',
    description: 'One node: a model answers each message.',
    startNode: 'answer',
    nodes: { answer },
  },
  {
    id: 'guard',
    label: 'A guard and an answer',
    description: 'Messages that match a pattern get a fixed line; the model never sees them.',
    startNode: 'guard',
    nodes: { guard: guard('answer'), refuse, answer },
  },
  {
    id: 'tools',
    label: 'A guard, tools and an answer',
    description: 'After the guard, calls of tools are detected; without a call, a model answers.',
    startNode: 'guard',
    nodes: { guard: guard('detect'), refuse, detect, answer },
  },
];

/** The text of a new graph file. */
export function newGraphText({ startNode, nodes }: GraphStart, defaultModelName: string): string {
  const graph = {
    ...(defaultModelName !== '' && { default_model_name: defaultModelName }),
    start_node: startNode,
    nodes,
  };
  return `${JSON.stringify(graph, null, 2)}\n`;
}

/** Why a name cannot be that of a graph file; undefined: it can. */
export function graphNameFault(name: string): string | undefined {
  if (name.trim() === '') return 'Give the graph a name.';
  if (/[/\\:*?"<>|]/.test(name)) return 'A name of a file has none of / \\ : * ? " < > |.';
  return undefined;
}
