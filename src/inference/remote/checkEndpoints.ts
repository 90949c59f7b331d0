import { describeError } from '../../protocol/fault.ts';
import { type ModelLimits, type RemoteModel } from '../contract/model.ts';
import { defaultTimeouts, type RemoteTimeouts, HttpConnection } from './connection/httpConnection.ts';
import { readApiKey, readTemplate, serverApis } from './serverApis.ts';

/** What an inference server says of itself; with a problem, nothing else is known. */
export interface EndpointReport {
  readonly url: string;
  /** Why it cannot be used; undefined: it answers. */
  readonly problem: string | undefined;
  /** Name of the model that it serves. */
  readonly model: string;
  /** Version of the server. */
  readonly build: string;
  /** Tokens of one sequence; 0 = it does not say. */
  readonly contextSize: number;
  /** Requests that it computes at once. */
  readonly slots: number;
  readonly limits: ModelLimits;
  /** Warnings for the user. */
  readonly notes: readonly string[];
}

/** How servers are asked. */
export interface EndpointCheckOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly timeouts?: Partial<RemoteTimeouts>;
}

/** Asks each server of a model whether it answers, and what it serves. */
export const checkEndpoints = (
  remote: RemoteModel,
  options: EndpointCheckOptions,
): Promise<readonly EndpointReport[]> => Promise.all(remote.baseUrls.map((url) => checkEndpoint(url, remote, options)));

async function checkEndpoint(
  url: string,
  remote: RemoteModel,
  { environment, signal, timeouts }: EndpointCheckOptions,
): Promise<EndpointReport> {
  try {
    const apiKey = readApiKey(remote, environment);
    using connection = new HttpConnection(url, apiKey, { ...defaultTimeouts, ...timeouts }, environment);
    const chatTemplate = await readTemplate(remote);
    const server = serverApis[remote.api](connection, { model: remote.model, chatTemplate });
    const { model, build, contextSize, slots, limits, notes } = await server.props(signal);
    return { url, problem: undefined, model, build, contextSize, slots, limits, notes };
  } catch (error) {
    return {
      url,
      problem: describeError(error),
      model: '',
      build: '',
      contextSize: 0,
      slots: 0,
      limits: {},
      notes: [],
    };
  }
}
