/** Small graphs for tests. */

/** A graph document. */
export interface GraphDocument {
  readonly start_node: string;
  readonly nodes: Readonly<
    Record<
      string,
      { readonly type: string; readonly params?: object; readonly exits?: Readonly<Record<string, string>> }
    >
  >;
  readonly [key: string]: unknown;
}

/** Generates an answer. */
export const chat = (params: object = {}): GraphDocument => ({
  start_node: 'answer',
  nodes: { answer: { type: 'Generate', params } },
});

/** The tool `set_light`. */
export const setLight = {
  name: 'set_light',
  description: 'Turn a named light on or off.',
  parameters: [
    { name: 'name', type: 'string', description: 'Which light.' },
    { name: 'on', type: 'boolean', description: 'true to turn it on.' },
  ],
};

/** Detects tool calls, and generates an answer when there is none. */
export const lamp = (params: object = {}): GraphDocument => ({
  start_node: 'detect',
  nodes: {
    detect: { type: 'ToolCall', params: { tools: [setLight], ...params }, exits: { no_tool_called: 'answer' } },
    answer: { type: 'Generate' },
  },
});

/** Answers messages that match a pattern with a canned response, and all others with a generation. */
export const guarded = (patterns: readonly string[], params: object = {}): GraphDocument => ({
  start_node: 'guard',
  nodes: {
    guard: {
      type: 'Guardrail',
      params: { inline_strings: patterns, ...params },
      exits: { triggered: 'refuse', not_triggered: 'answer' },
    },
    refuse: { type: 'CannedResponse', params: { inline_strings: ["I can't help with that."] } },
    answer: { type: 'Generate' },
  },
});

/** Generates a held answer, and replaces it by a canned response when it matches `secret`. */
export const screened = (secret: string): GraphDocument => ({
  start_node: 'answer',
  nodes: {
    answer: { type: 'Generate', params: { hold: true }, exits: { default: 'judge' } },
    judge: {
      type: 'Guardrail',
      params: { watch: 'answer', inline_strings: [secret] },
      exits: { triggered: 'instead' },
    },
    instead: { type: 'CannedResponse', params: { inline_strings: ['My lips are sealed.'] } },
  },
});
