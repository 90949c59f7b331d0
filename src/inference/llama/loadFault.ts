import { Fault, describeError } from '../../protocol/fault.ts';

/** The Fault of a model that could not be loaded, with its file. */
export function toLoadFault(file: string, error: unknown, signal: AbortSignal | undefined): Fault {
  if (error instanceof Fault)
    return new Fault(error.name, `${file} cannot be loaded: ${error.message}`, { cause: error });
  if (signal?.aborted) return new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`, { cause: error });
  const reason = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `${file} cannot be loaded (${reason}): the file is damaged, cut short, or of a kind that this llama.cpp does not know; ` +
      'download it again',
    { cause: error },
  );
}
