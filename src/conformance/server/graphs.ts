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
