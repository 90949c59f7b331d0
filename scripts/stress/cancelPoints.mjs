// Cancel points: moments of a turn at which a test cancels it.

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function receivePieces(turn, count) {
  let received = 0;
  for await (const _ of turn.text) if (++received >= count) return;
}

const immediately = () => async () => undefined;
const after = (minMs, maxMs) => (rng) => () => wait(rng.between(minMs, maxMs));
const afterSomePieces = (rng) => (turn) => receivePieces(turn, 1 + rng.below(12));

// At the second last word of the demo model's most frequent answers, so that the cancel meets the end of the turn.
const nearEnd = () => async (turn) => {
  let text = '';
  for await (const piece of turn.text) if (/pow|can I|help|assist|and ale|like/.test((text += piece))) return;
};

/** Cancel points, repeated by frequency. Each takes a random generator and returns a function that waits, given the turn. */
export const cancelPoints = [
  immediately,
  after(0, 15),
  after(0, 80),
  after(20, 300),
  afterSomePieces,
  afterSomePieces,
  afterSomePieces,
  nearEnd,
  nearEnd,
];

/** Cancel points for a message with a long prefill. */
export const prefillCancelPoints = [after(0, 60), after(0, 400), after(0, 1000)];

/** The phase in which a turn was cancelled, from the diagnostics of its summary. */
export function phaseOf({ status, debugInfo }) {
  if (status !== 'CANCELLED') return 'too late';
  const last = debugInfo?.inferences?.at(-1);
  if (!last) return 'before the model';
  const { waited, total } = last.timings_ms;
  if (last.tokens.generated > 0) return 'generation';
  return total - waited < 0.5 ? 'before it had a slot' : 'prompt';
}
