import type { ServerProps } from '../inferenceServer.ts';
import { ServerFault } from '../connection/serverFault.ts';
import type { ServerObject, ServerJson } from '../connection/serverJson.ts';

/** What a server says of its model at no cost. */
export interface ServerIdentity extends Pick<ServerProps, 'contextSize' | 'model'> {
  /** Equal texts: it is likely to be the same server. */
  readonly identity: string;
}

/** Asks a server for its list of models. @throws ServerFault when it has no such model. */
export async function readIdentity(json: ServerJson, signal: AbortSignal): Promise<ServerIdentity> {
  const { data } = await json.get('/v1/models', signal);
  const own = json.ownModel(data);
  if (!own) throw json.malformed('/v1/models', 'it does not list the model: check model in models.json');
  const { id, root, max_model_len: length } = own;
  const contextSize = typeof length === 'number' && length > 0 ? length : 0;
  const identity = JSON.stringify([id, root ?? '', contextSize]);
  return { identity, contextSize, model: typeof id === 'string' ? id : '' };
}

/** The version of the server; "" = it does not say. */
export async function readVersion(json: ServerJson, signal: AbortSignal): Promise<string> {
  const { version } = await optional(json.get('/version', signal));
  return typeof version === 'string' ? version : '';
}

/** A response that not every server has; empty where it has none. */
export async function optional(response: Promise<ServerObject>): Promise<ServerObject> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof ServerFault && [400, 404, 405, 422, 501].includes(error.status)) return {};
    throw error;
  }
}
