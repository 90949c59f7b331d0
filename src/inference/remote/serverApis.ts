import { readFile } from 'node:fs/promises';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { RemoteModel } from '../contract/model.ts';
import type { HttpConnection } from './connection/httpConnection.ts';
import type { Environment } from '../../base/httpRoute.ts';
import type { InferenceServer } from './inferenceServer.ts';
import { llamaServer } from './llamaServer/llamaServer.ts';
import { openAiServer } from './openAi/openAiServer.ts';
import { withoutMark } from '../../base/jsonLocations.ts';

export interface ServedModelName extends Pick<RemoteModel, 'model'> {
  /** Source of the chat template that is named in the catalogue; undefined: that of the server. */
  readonly chatTemplate: string | undefined;
}

/** The APIs of inference servers, by their names in the catalogue. */
export const serverApis: Readonly<
  Record<RemoteModel['api'], (connection: HttpConnection, served: ServedModelName) => InferenceServer>
> = {
  'llama-server': (connection, { model }) => llamaServer(connection, model),
  openai: (connection, { model, chatTemplate = '' }) => openAiServer(connection, model, chatTemplate),
};

/** The API key of a model, if it needs one. @throws Fault MODEL_LOAD_FAILED when its variable is not set. */
export function readApiKey({ apiKeyEnv }: RemoteModel, environment: Environment): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = environment[apiKeyEnv];
  if (key !== undefined && key !== '') return key;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `the environment variable ${apiKeyEnv} (api_key_env) is not set: set it to the API key`,
  );
}

/** The chat template that the catalogue names for a model; undefined: it names none. @throws Fault MODEL_LOAD_FAILED */
export async function readTemplate({ templateFile: file }: RemoteModel): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return withoutMark(await readFile(file, 'utf8'));
  } catch (cause) {
    const message = `the chat template ${file} cannot be read: ${describeError(cause)}`;
    throw new Fault('MODEL_LOAD_FAILED', message, { cause });
  }
}
