// Output divergence: compares two runs of the same turn token by token, and tells near-ties of greedy sampling from errors.

/**
 * Largest difference of two probabilities that counts as a near-tie. Evaluating the same tokens in batches of another shape
 * moves a probability by less (see docs/contribute/reliability.md), so either token may become the likeliest.
 */
export const maxTieGap = 0.005;

/**
 * Compares two runs `{ text, prompt, tokens }` of one turn; undefined when the texts are equal. `kind` is
 *
 * | kind           | the runs                                                                      |
 * | -------------- | ----------------------------------------------------------------------------- |
 * | `untraced`     | lack a token trace                                                            |
 * | `tokenization` | have prompts of the same text in different tokens                             |
 * | `prompt`       | have different prompts                                                        |
 * | `tie`          | diverge at two tokens whose probabilities differ by at most `maxTieGap`       |
 * | `different`    | diverge at any other place: an error                                          |
 */
export async function divergenceOf(reader, one, other) {
  if (one.text === other.text) return undefined;
  if (!one.tokens || !other.tokens) return { kind: 'untraced', sentence: 'the tokens were not traced' };
  const [mine, theirs] = [one, other].map(({ tokens, prompt }) => tokens.slice(0, prompt));
  if (mine.join() !== theirs.join()) {
    const same = reader.text(mine) === reader.text(theirs);
    const sentence = same ? 'the prompts have the same text in different tokens' : 'the prompts differ';
    return { kind: same ? 'tokenization' : 'prompt', sentence };
  }
  const { index, texts, a, b, gap } = await reader.divergence(one.tokens, other.tokens);
  const [first, second] = texts.map((text) => JSON.stringify(text));
  const sentence = `at token ${index} it is ${first} (${percent(a)}) or ${second} (${percent(b)})`;
  return { kind: gap <= maxTieGap ? 'tie' : 'different', gap, sentence };
}

const percent = (share) => `${(100 * share).toFixed(3)} %`;

/** Finds the last generation whose context contains a text, among traces with their `contextText`. */
export function findGeneration(traces, text) {
  return traces.findLast(({ kind, contextText }) => kind === 'evaluated' && contextText.includes(text));
}
