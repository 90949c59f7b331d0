import { describeError, Fault } from '../../protocol/fault.ts';
import type { RemoteModel } from '../contract/model.ts';
import { HttpConnection, defaultTimeouts } from './connection/httpConnection.ts';
import type { Environment } from '../../base/httpRoute.ts';
import type { InferenceServer } from './inferenceServer.ts';
import { llamaServer } from './llamaServer/llamaServer.ts';
import { openAiServer } from './openAi/openAiServer.ts';
import { readTextFile } from '../../base/filesystem.ts';

/** @param template source of the chat template that is named in the catalogue; undefined: that of the server. */
type OpenServer = (connection: HttpConnection, model: string | undefined, template?: string) => InferenceServer;

/** The APIs of inference servers, by their names in the catalogue. */
export const serverApis: Readonly<Record<RemoteModel['api'], OpenServer>> = {
  'llama-server': llamaServer,
  openai: openAiServer,
};

/** The API key of a model, if it needs one. @throws Fault MODEL_LOAD_FAILED when its variable is not set. */
export function readApiKey({ apiKeyEnv }: RemoteModel, environment: Environment): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = environment[apiKeyEnv];
  if (key !== undefined && key !== '') return key;
  const message = `the environment variable ${apiKeyEnv} (api_key_env) is not set: set it to the API key`;
  throw new Fault('MODEL_LOAD_FAILED', message);
}

/** The chat template that the catalogue names for a model; undefined: it names none. @throws Fault MODEL_LOAD_FAILED */
export async function readTemplate({ templateFile: file }: RemoteModel): Promise<string | undefined> {
  if (file === undefined) return undefined;
  return readTextFile(file).catch((cause: unknown) => {
    throw new Fault('MODEL_LOAD_FAILED', `the chat template ${describeError(cause)}`, { cause });
  });
}

/** What an inference server says of itself; with a problem, nothing else is known. */
export type EndpointReport = Awaited<ReturnType<typeof checkEndpoint>>;

const nothingKnown = { model: '', build: '', contextSize: 0, slots: 0, limits: {}, notes: [] };

/** Asks each server of a model whether it answers, and what it serves. */
export const checkEndpoints = (remote: RemoteModel, signal: AbortSignal): Promise<readonly EndpointReport[]> =>
  Promise.all(remote.baseUrls.map((url) => checkEndpoint(url, remote, signal)));

async function checkEndpoint(url: string, remote: RemoteModel, signal: AbortSignal) {
  try {
    using connection = new HttpConnection(url, readApiKey(remote, process.env), defaultTimeouts, process.env);
    const server = serverApis[remote.api](connection, remote.model, await readTemplate(remote));
    const { model, build, contextSize, slots, limits, notes } = await server.props(signal);
    return { url, problem: undefined, model, build, contextSize, slots, limits, notes };
  } catch (error) {
    return { url, problem: describeError(error), ...nothingKnown };
  }
}
