import type { IncomingMessage } from 'node:http';
import { decodePercent } from '../../base/jsonPointer.ts';

/** What the paths of the API lead to, as the metrics name it. */
export type ApiRoute = 'chat_completions' | 'embeddings' | 'models' | 'model' | 'other';

const modelPath = '/v1/models/';

export function routeOf(path: string): ApiRoute {
  if (path === '/v1/chat/completions') return 'chat_completions';
  if (path === '/v1/embeddings') return 'embeddings';
  if (path === '/v1/models') return 'models';
  return path.startsWith(modelPath) && path.length > modelPath.length ? 'model' : 'other';
}

/** The name of the model in a path of the route `model`. */
export function modelNameIn(path: string): string {
  const name = path.slice(modelPath.length);
  return decodePercent(name) ?? name;
}

/** Whether a path belongs to the OpenAI-compatible API. */
export const isApiPath = (path: string): boolean => path === '/v1' || path.startsWith('/v1/');

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
