// What a client of the SDK hears of a turn, with the time of each piece.
import { connect } from '../../dist/client/index.js';

/** Connects with the binary codec; `options` as those of the SDK. */
export const connected = (server, options = {}) =>
  connect(server.url, { codec: 'proto', timeoutMs: 60_000, ...options });

/** A graph of one Generate node that answers greedily with as many tokens. */
export const talk = (maxTokens, params = {}) => ({
  default_model_name: 'bench',
  start_node: 'talk',
  nodes: { talk: { type: 'Generate', params: { ...params, sampling: { temperature: 0, max_tokens: maxTokens } } } },
});

/** Sends a message; gives the account of the turn with milliseconds from sending: first and last piece, end. */
export async function heard(agent, message, options = {}) {
  const start = performance.now();
  const at = { first: 0, last: 0 };
  const turn = await agent.send(message, {
    ...options,
    onText: () => {
      at.last = performance.now() - start;
      at.first ||= at.last;
    },
  });
  return { ...at, end: performance.now() - start, turn };
}

/** Tokens a second from the first piece to the last; each piece is a token, or more when they make one character. */
export const decodeRate = ({ first, last, generated }) => ((generated - 1) * 1000) / (last - first);
export const totalRate = ({ end, generated }) => (generated * 1000) / end;
