// The client side of the benchmark: connects with the SDK, and times the pieces of a turn.
import { connect } from '../../dist/client/index.js';

/** Connects with the binary codec; `options` as those of the SDK. */
export const connectClient = (server, options = {}) =>
  connect(server.url, { codec: 'proto', timeoutMs: 60_000, ...options });

/** A graph of one Generate node with greedy sampling and at most `maxTokens`. */
export const generateGraph = (maxTokens, params = {}) => ({
  default_model_name: 'bench',
  start_node: 'answer',
  nodes: { answer: { type: 'Generate', params: { ...params, sampling: { temperature: 0, max_tokens: maxTokens } } } },
});

/** Sends a message; returns the turn and the milliseconds from sending to the first piece, the last piece and the end. */
export async function timeTurn(agent, message, options = {}) {
  const start = performance.now();
  const times = { first: 0, last: 0 };
  const turn = await agent.send(message, {
    ...options,
    onText: () => {
      times.last = performance.now() - start;
      times.first ||= times.last;
    },
  });
  return { ...times, end: performance.now() - start, turn };
}

/** Tokens per second from the first piece to the last; a piece is one token, or several that form one character. */
export const decodeRate = ({ first, last, generated }) => ((generated - 1) * 1000) / (last - first);
/** Tokens per second from sending to the end of the turn. */
export const totalRate = ({ end, generated }) => (generated * 1000) / end;
