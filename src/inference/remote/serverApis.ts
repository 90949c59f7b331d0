import type { RemoteModel } from '../contract/model.ts';
import type { HttpConnection } from './connection/httpConnection.ts';
import type { InferenceServer } from './inferenceServer.ts';
import { LlamaServer } from './llamaServer/llamaServer.ts';
import { OpenAiServer } from './openAi/openAiServer.ts';

/** What a server is asked for. */
export interface ServedModelName extends Pick<RemoteModel, 'model'> {
  /** Source of the chat template that is named in the catalogue; undefined: that of the server. */
  readonly chatTemplate: string | undefined;
}

/** The APIs of inference servers, by their names in the catalogue. */
export const serverApis: Readonly<
  Record<RemoteModel['api'], (connection: HttpConnection, served: ServedModelName) => InferenceServer>
> = {
  'llama-server': (connection, { model }) => new LlamaServer(connection, model),
  openai: (connection, { model, chatTemplate = '' }) => new OpenAiServer(connection, model, chatTemplate),
};
