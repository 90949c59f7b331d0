import type { CreateAgentRequest, ModelProgress } from '../protocol/frames.gen.ts';
import { checks, optionsCheck } from './options.ts';

/** Options of `createAgent`. Give either `graph` or `graphName`. */
export interface CreateAgentOptions extends Partial<
  Omit<CreateAgentRequest, 'graphJson' | 'graphName' | 'historyJson'>
> {
  /** A graph document, as a value or as JSON text. */
  readonly graph?: object | string;
  /** The name of a graph in the server's graphs folder. */
  readonly graphName?: string;
  /** A dialog to continue: the result of `exportDialog`, or a list of `{ user, assistant }`. */
  readonly history?: readonly object[] | string;
  /**
   * Called with the progress of a model that the agent waits for: its download, if the session allows that, and its
   * load.
   */
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Stops waiting; the server may create the agent nevertheless. */
  readonly signal?: AbortSignal;
  /** Milliseconds until `createAgent` rejects with TIMEOUT; default: none. */
  readonly timeoutMs?: number;
}

/** Checks the options of `createAgent`. @throws Fault MALFORMED_MESSAGE with the path. */
export const checkAgentOptions = optionsCheck<CreateAgentOptions>('createAgent', {
  graph: checks.graph,
  graphName: checks.field,
  defaultModelName: checks.field,
  enableDiagnostics: checks.field,
  maxStepsPerTurn: checks.field,
  history: checks.history,
  warmUp: checks.field,
  onProgress: checks.callback,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
});
