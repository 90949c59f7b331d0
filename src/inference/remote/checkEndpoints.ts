import { describeError } from '../../protocol/fault.ts';
import type { RemoteModel } from '../contract/model.ts';
import type { ServerProps } from './inferenceServer.ts';
import { defaultTimeouts, HttpConnection } from './connection/httpConnection.ts';
import { readApiKey, readTemplate, serverApis } from './serverApis.ts';

/** What an inference server says of itself; with a problem, nothing else is known. */
export interface EndpointReport extends Pick<
  ServerProps,
  'model' | 'build' | 'contextSize' | 'slots' | 'limits' | 'notes'
> {
  readonly url: string;
  /** Why it cannot be used; undefined: it answers. */
  readonly problem: string | undefined;
}

const nothingKnown = { model: '', build: '', contextSize: 0, slots: 0, limits: {}, notes: [] };

/** Asks each server of a model whether it answers, and what it serves. */
export const checkEndpoints = (remote: RemoteModel, signal: AbortSignal): Promise<readonly EndpointReport[]> =>
  Promise.all(remote.baseUrls.map((url) => checkEndpoint(url, remote, signal)));

async function checkEndpoint(url: string, remote: RemoteModel, signal: AbortSignal): Promise<EndpointReport> {
  try {
    using connection = new HttpConnection(url, readApiKey(remote, process.env), defaultTimeouts, process.env);
    const chatTemplate = await readTemplate(remote);
    const server = serverApis[remote.api](connection, { model: remote.model, chatTemplate });
    const { model, build, contextSize, slots, limits, notes } = await server.props(signal);
    return { url, problem: undefined, model, build, contextSize, slots, limits, notes };
  } catch (error) {
    return { url, problem: describeError(error), ...nothingKnown };
  }
}
