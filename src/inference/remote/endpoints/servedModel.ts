import type { InferenceServer, ServerProps } from '../inferenceServer.ts';
import { ServerFault } from '../connection/serverFault.ts';

/** What a server has to serve, to be an endpoint of a loaded model. */
export interface ServedModel extends Pick<ServerProps, 'chatTemplate' | 'bos' | 'eos' | 'fingerprint'> {
  /** Tokens of each slot, at least. */
  readonly contextSize: number;
  /** Name of the model that the server had before; undefined: it has not answered yet. */
  readonly model: string | undefined;
}

/** Why a server cannot be an endpoint of a loaded model; undefined: it can. */
function findDifference(wanted: ServedModel, props: ServerProps): string | undefined {
  if (wanted.model !== undefined && wanted.model !== props.model)
    return `serves another model than before: ${props.model} instead of ${wanted.model}`;
  if (wanted.chatTemplate !== props.chatTemplate) return 'serves another model: its chat template differs';
  if (wanted.bos !== props.bos || wanted.eos !== props.eos) return 'serves another model: its BOS or EOS token differs';
  if (wanted.fingerprint !== props.fingerprint) return 'serves another model, or its abilities differ';
  if (props.contextSize > 0 && props.contextSize < wanted.contextSize)
    return `has slots of ${props.contextSize} tokens now, and the model was loaded with ${wanted.contextSize}`;
  return undefined;
}

/** Asks a server whether it serves a model. @throws ServerFault when it does not. */
export async function checkServed(
  server: InferenceServer,
  wanted: ServedModel,
  signal: AbortSignal,
): Promise<Pick<ServerProps, 'slots'>> {
  const props = await server.props(signal);
  const difference = findDifference(wanted, props);
  if (difference === undefined) return props;
  const message = `${server.connection.url} ${difference}; start it with the same model, or unload the model and load it`;
  // Another endpoint may serve it.
  throw new ServerFault('INFERENCE_FAILED', message, { retryable: true });
}
