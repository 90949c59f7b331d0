// A document as tokens: what all its messages share, then each message with its answers; only answers are learnt.
import { end, promptText } from './prompts.mjs';

const mark = '\u{f8ff}';

/** The text that the branches of a document share, and theirs: stretches of text, each learnt or not. */
export function textsOf({ system, tools, history, branches }) {
  const opening = [...(system === '' ? [] : [{ role: 'system', text: system }]), ...history];
  const asked = promptText([...opening, { role: 'user', text: mark }], tools);
  const shared = asked.slice(0, asked.indexOf(mark));
  const ending = asked.slice(asked.indexOf(mark) + mark.length);
  return { shared, branches: branches.map(({ turns }) => segments(turns, ending)) };
}

function segments(turns, ending) {
  return turns.flatMap(({ said, answer }, index) => {
    const before = index === 0 ? said.text + ending : `\n${promptText([said])}`;
    return [
      { text: before, learnt: false },
      { text: answer + end, learnt: true },
    ];
  });
}

const learntBit = 0x8000;

/**
 * A document as 16-bit numbers: the length of all tokens, that of the shared ones, the number of branches, the length of
 * each branch, then the tokens; those that are learnt have the highest bit set.
 */
export function toRecord({ shared, branches }, encode) {
  const first = encode(shared);
  const rest = branches.map((parts) =>
    parts.flatMap(({ text, learnt }) => encode(text).map((token) => (learnt ? token | learntBit : token))),
  );
  return packRecord(first, rest);
}

/** Random tokens, and stretches of them once more: from these a model learns to copy before it can read. */
export function copyRecord(rng, tokens) {
  const draw = (count) => Array.from({ length: count }, () => rng.pick(tokens));
  const first = draw(12 + rng.below(60));
  const rest = Array.from({ length: 3 + rng.below(4) }, () => {
    const length = Math.min(first.length, 4 + rng.below(20));
    const from = rng.below(first.length - length + 1);
    const [lead, ...others] = first.slice(from, from + length);
    return [...draw(1), lead, ...others.map((token) => token | learntBit)];
  });
  return packRecord(first, rest);
}

function packRecord(first, rest) {
  const total = rest.reduce((sum, branch) => sum + branch.length, first.length);
  return Uint16Array.from([
    total,
    first.length,
    rest.length,
    ...rest.map(({ length }) => length),
    ...first,
    ...rest.flat(),
  ]);
}
