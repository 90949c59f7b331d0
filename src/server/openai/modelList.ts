import type { ServerContext } from '../session/session.ts';
import { ApiError } from './apiError.ts';

/** What the name of a graph begins with where names of models stand. */
export const graphPrefix = 'graph:';

const started = Math.floor(Date.now() / 1000);

const toApiModel = (id: string): object => ({ id, object: 'model', created: started, owned_by: 'turngraph' });

/** The body of GET /v1/models: the graphs of the folder, and the models of the catalogue. */
export async function listModels({ graphs, pools }: ServerContext): Promise<object> {
  const names = (await graphs.names()).map((name) => graphPrefix + name);
  return { object: 'list', data: [...names, ...pools['llama-cpp'].catalogue.models.keys()].map(toApiModel) };
}

/** The body of GET /v1/models/NAME. @throws ApiError with status 404 */
export async function readModel(name: string, { graphs, pools }: ServerContext): Promise<object> {
  const isKnown = name.startsWith(graphPrefix)
    ? (await graphs.names()).includes(name.slice(graphPrefix.length))
    : pools['llama-cpp'].catalogue.models.has(name);
  if (isKnown) return toApiModel(name);
  throw new ApiError(`there is no model "${name}"; GET /v1/models lists them`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}
