import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream';

/** How long a response may take to end after its last event. */
const maxDrainMs = 1000;

/** Reads a response to its end, so that the next request can use its connection. One that does not end soon is closed. */
export function drainResponse(response: IncomingMessage): void {
  const timer = setTimeout(() => response.destroy(), maxDrainMs);
  timer.unref();
  finished(response, () => clearTimeout(timer));
  response.resume();
}
