// Moments of a turn at which it can be cancelled.

const wait = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));

async function pieces(turn, count) {
  let heard = 0;
  for await (const _ of turn.text) if (++heard >= count) return;
}

const atOnce = () => async () => undefined;
const after = (least, most) => (chance) => () => wait(chance.between(least, most));
const speaking = (chance) => (turn) => pieces(turn, 1 + chance.below(12));

// With the last word but one of what the demo model likes to say: what comes then is the end.
const nearEnd = () => async (turn) => {
  let text = '';
  for await (const piece of turn.text) if (/pow|can I|help|assist|and ale|like/.test((text += piece))) return;
};

/** Ways to choose a moment, as often as each is to be chosen; each gives what to wait for, given the turn. */
export const moments = [
  atOnce,
  after(0, 15),
  after(0, 80),
  after(20, 300),
  speaking,
  speaking,
  speaking,
  nearEnd,
  nearEnd,
];

/** Moments for a message that takes long to read. */
export const readingMoments = [after(0, 60), after(0, 400), after(0, 1000)];

/** Where a cancelled turn was, by its own account. */
export function phaseOf({ status, debugInfo }) {
  if (status !== 'CANCELLED') return 'too late';
  const last = debugInfo?.inferences?.at(-1);
  if (!last) return 'before the model';
  const { waited, total } = last.timings_ms;
  if (last.tokens.generated > 0) return 'generation';
  return total - waited < 0.5 ? 'before it had a slot' : 'prompt';
}
