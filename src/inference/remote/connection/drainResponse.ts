import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';

/** How long a response may take to end after its last event. */
const maxDrainMs = 1000;

/**
 * Reads a response to its end, so that the next request can use its connection. One that does not end soon is closed, and
 * so is that of a llama-server: it promises to keep the connection and closes it 0.3 ms after a stream (seen in a build of
 * June 2026), when the next request may be under way.
 */
export function drainResponse(response: IncomingMessage): void {
  if (response.headers.server === 'llama.cpp') {
    response.destroy();
    return;
  }
  const timer = setTimeout(() => response.destroy(), maxDrainMs);
  timer.unref();
  finished(response, () => clearTimeout(timer));
  response.resume();
}
