/** Graphs that the checks give to the server. */

/** Answers each message with the same text. */
export const canned = (...lines: readonly string[]): object => ({
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { inline_strings: lines, selection_strategy: 'in_turn' } } },
});

/** Answers a message that has the word `forbidden` with `No.`, and every other with `Yes.`. */
export const guarded: object = {
  start_node: 'guard',
  nodes: {
    guard: {
      type: 'Guardrail',
      params: { inline_strings: ['forbidden'] },
      exits: { triggered: 'refuse', not_triggered: 'agree' },
    },
    refuse: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
    agree: { type: 'CannedResponse', params: { inline_strings: ['Yes.'] } },
  },
};

/** Generates each answer. */
export const chat = (params: object = {}): object => ({
  start_node: 'answer',
  nodes: { answer: { type: 'Generate', params } },
});

/** Never ends by itself. */
export const endless: object = {
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { inline_strings: ['Again. '] }, exits: { default: 'say' } } },
};

/** A tool with a parameter of each type that the checks use. */
const setLight = {
  name: 'set_light',
  description: 'Turn a named light on or off.',
  parameters: [
    { name: 'name', type: 'string', description: 'Which light.' },
    { name: 'on', type: 'boolean', description: 'true to turn it on.' },
  ],
};

/** Detects calls of `set_light`, and says something afterwards. */
export const lamp = (params: object = {}): object => ({
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [setLight], tool_call_format: 'chatml', ...params },
      exits: { tool_called: 'say', no_tool_called: 'say', no_results: 'say' },
    },
    say: { type: 'CannedResponse', params: { inline_strings: ['Well.'] } },
  },
});

/** The text of a call as a model writes it in the format chatml. */
export const callText = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
