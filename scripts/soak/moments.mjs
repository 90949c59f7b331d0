// Moments of a turn at which it can be cancelled.

const wait = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));

async function pieces(turn, count) {
  let heard = 0;
  for await (const _ of turn.text) if (++heard >= count) return;
}

/** Ways to choose a moment; each gives what to wait for, given the turn. */
export const moments = [
  () => async () => undefined,
  (chance) => () => wait(chance.between(0, 15)),
  (chance) => () => wait(chance.between(0, 80)),
  (chance) => () => wait(chance.between(20, 300)),
  (chance) => (turn) => pieces(turn, 1 + chance.below(12)),
  // The last word of the answers of the demo model, or the last but one.
  () => async (turn) => {
    let text = '';
    for await (const piece of turn.text) if (/(pow|help|small|assist|ale|secr)/.test((text += piece))) return;
  },
];

/** Where a cancelled turn was, by its own account. */
export function phaseOf({ status, debugInfo }) {
  if (status !== 'CANCELLED') return 'too late';
  const last = debugInfo?.inferences?.at(-1);
  if (!last) return 'before the model';
  const { waited, total } = last.timings_ms;
  if (last.tokens.generated > 0) return 'generation';
  return total - waited < 0.5 ? 'waiting for a seat' : 'prompt';
}
