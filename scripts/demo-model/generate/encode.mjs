// Encodes a document as tokens: the shared prefix, then each message with its answers; only answers are trained on.
import { end, promptText } from './prompts.mjs';

const mark = '\u{f8ff}';

/**
 * The shared prefix of a document as text, and the segments of its branches, each trained on (`learnt`) or not. The messages of
 * a turn's `exchange` (calls and results) are between its user message and its answer.
 */
export function textsOf({ system, tools, history, branches }) {
  const opening = [...(system === '' ? [] : [{ role: 'system', text: system }]), ...history];
  const asked = promptText([...opening, { role: 'user', text: mark }], tools);
  const shared = asked.slice(0, asked.indexOf(mark));
  return { shared, branches: branches.map(({ turns }) => turns.flatMap(segments)) };
}

function segments({ said, exchange = [], answer }, index) {
  const message = promptText([index === 0 ? { ...said, text: mark } : said, ...exchange]);
  const before = index === 0 ? said.text + message.slice(message.indexOf(mark) + mark.length) : `\n${message}`;
  return [
    { text: before, learnt: false },
    { text: answer + end, learnt: true },
  ];
}

const learntBit = 0x8000;

/**
 * A document as 16-bit numbers: the number of all tokens, of the shared ones and of the branches, the length of each branch,
 * then the tokens; tokens that are trained on have the highest bit set.
 */
export function toRecord({ shared, branches }, encode) {
  const first = encode(shared);
  const rest = branches.map((parts) =>
    parts.flatMap(({ text, learnt }) => encode(text).map((token) => (learnt ? token | learntBit : token))),
  );
  return packRecord(first, rest);
}

/** A record of random tokens and copies of segments of them, from which the model learns to copy. */
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
