import type { ServerContext } from '../session/session.ts';
import { ApiError } from './apiError.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { Fault } from '../../protocol/fault.ts';
import { planGraphTurn } from './graphPlan.ts';
import { readMessages } from './messages.ts';
import { planModelTurn } from './modelPlan.ts';
import type { CompletionRequest } from './requestSchema.ts';
import type { TurnPlan } from './turnPlan.ts';

/** What the name of a graph begins with where names of models stand. */
const graphPrefix = 'graph:';

/** Plans the turn of a request: of the graph or of the model that it names. @throws ApiError, or Fault UNKNOWN_MODEL */
export async function planRequest(request: CompletionRequest, context: ServerContext): Promise<TurnPlan> {
  const { model } = request;
  const graph = model.startsWith(graphPrefix) ? await readGraph(model.slice(graphPrefix.length), context) : undefined;
  // Before the graph of the request is compiled, whose errors are about other fields.
  if (graph === undefined) await assertModel(model, context);
  const conversation = readMessages(request.messages, context.limits.messageBytes);
  if (graph === undefined) return planModelTurn(request, conversation);
  return planGraphTurn(request, conversation, { graph, registry: context.registry });
}

async function assertModel(name: string, { pools, graphs }: ServerContext): Promise<void> {
  try {
    pools['llama-cpp'].entry(name);
  } catch (error) {
    if (!(await graphs.names()).includes(name)) throw error;
    throw modelNotFound(`there is no model "${name}", and there is a graph; did you mean "${graphPrefix}${name}"?`);
  }
}

const modelNotFound = (message: string): ApiError =>
  new ApiError(message, { status: 404, param: 'model', code: 'model_not_found' });

async function readGraph(name: string, { graphs }: ServerContext): Promise<unknown> {
  const names = await graphs.names();
  if (!names.includes(name))
    throw modelNotFound(`there is no graph "${name}"${didYouMean(name, names) || '; GET /v1/models lists them'}`);
  return graphs.read(name).catch((error: unknown) => {
    throw new ApiError(Fault.from(error).message, { status: 500, param: 'model' });
  });
}

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
  throw modelNotFound(`there is no model "${name}"; GET /v1/models lists them`);
}
