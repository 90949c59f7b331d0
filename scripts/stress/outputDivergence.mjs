// Two runs of the same turn, token by token: the same, parted at a near-tie, or different.

/**
 * Two probabilities this close are a near-tie: evaluating the same tokens in batches of another shape moves a probability
 * by less (see docs/reliability.md), so either token may come out likeliest.
 */
export const nearTie = 0.005;

/** What two runs `{ text, prompt, tokens }` of one turn differ in; undefined: in nothing that was said. */
export async function partingOf(reader, one, other) {
  if (one.text === other.text) return undefined;
  if (!one.tokens || !other.tokens) return { kind: 'unheard', sentence: 'and what was evaluated was not overheard' };
  const [mine, theirs] = [one, other].map(({ tokens, prompt }) => tokens.slice(0, prompt));
  if (mine.join() !== theirs.join()) {
    const same = reader.text(mine) === reader.text(theirs);
    const sentence = same ? 'the prompts spell the same text with other tokens' : 'the prompts differ';
    return { kind: same ? 'spelling' : 'prompt', sentence };
  }
  const { place, words, a, b, gap } = await reader.parting(one.tokens, other.tokens);
  const [first, second] = words.map((word) => JSON.stringify(word));
  const sentence = `at token ${place} it is ${first} (${percent(a)}) or ${second} (${percent(b)})`;
  return { kind: gap <= nearTie ? 'tie' : 'apart', gap, sentence };
}

const percent = (share) => `${(100 * share).toFixed(3)} %`;

/** The generation among overheard records whose prompt holds a text, the first one or the last. */
export function evaluatedWith(records, which = 'last') {
  const generations = records.filter(({ kind }) => kind === 'evaluated');
  return (text) => {
    const holds = (record) => record.written.includes(text);
    return which === 'first' ? generations.find(holds) : generations.findLast(holds);
  };
}
