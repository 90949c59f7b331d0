import { Fault } from '../../../protocol/fault.ts';
import type { RemoteModel } from '../../contract/model.ts';

/**
 * The API key of a model; undefined: it needs none.
 * @throws Fault MODEL_LOAD_FAILED when its environment variable is not set.
 */
export function readApiKey(
  { apiKeyEnv }: RemoteModel,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = environment[apiKeyEnv];
  if (key !== undefined && key !== '') return key;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `the environment variable ${apiKeyEnv} (api_key_env) is not set: set it to the API key`,
  );
}
