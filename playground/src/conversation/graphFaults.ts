import type { Fault } from '../../../src/client/index.ts';

/** A fault of a graph that an agent could not be made of. */
export interface CompileFault {
  readonly pointer: string;
  readonly message: string;
}

/** All faults of the graph, where a fault has them in its detail. */
export function compileFaults({ name, detail }: Pick<Fault, 'name' | 'detail'>): readonly CompileFault[] {
  if ((name !== 'GRAPH_COMPILATION_FAILED' && name !== 'INVALID_EXIT_TARGET') || detail === '') return [];
  return JSON.parse(detail) as readonly CompileFault[];
}

const advices: Readonly<Record<string, string>> = {
  MODEL_NOT_ON_DISK: 'Download the model, or name another one.',
  UNKNOWN_MODEL: 'Name a model of the catalogue.',
  MODEL_LOAD_FAILED: 'Free memory by unloading another model, or name another one.',
  GRAPH_COMPILATION_FAILED: 'Correct the graph, then try again.',
  INVALID_EXIT_TARGET: 'Correct the exits, then try again.',
  LIMIT_EXCEEDED: 'Remove agents that are not needed, then try again.',
  CONNECTION_FAILED: 'Connect again, then try again.',
  CONNECTION_DROPPED: 'Connect again, then try again.',
  SERVER_SHUTTING_DOWN: 'Start the server again, then connect again.',
};

/** What to do about an agent that could not be made. */
export const adviceFor = (name: string): string | undefined => advices[name];

/** Whether the dialog of models is the place to do it. A graph without any model name does not compile, either. */
export const isAboutModels = (name: string): boolean =>
  ['MODEL_NOT_ON_DISK', 'UNKNOWN_MODEL', 'MODEL_LOAD_FAILED', 'GRAPH_COMPILATION_FAILED'].includes(name);
