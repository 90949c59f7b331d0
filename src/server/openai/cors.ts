import type { IncomingMessage } from 'node:http';

/** The headers that let a page of an accepted origin read a response. */
export const corsHeaders = ({ headers: { origin } }: IncomingMessage): Readonly<Record<string, string>> =>
  origin === undefined ? {} : { 'access-control-allow-origin': origin, vary: 'origin' };

/** The headers of the answer to a preflight request of a page of an accepted origin. */
export const preflightHeaders = (request: IncomingMessage): Readonly<Record<string, string>> => ({
  ...corsHeaders(request),
  'access-control-allow-methods': 'GET, POST',
  // The clients of a page send headers of their own about themselves.
  'access-control-allow-headers': String(request.headers['access-control-request-headers'] ?? 'authorization'),
  'access-control-max-age': '600',
});
