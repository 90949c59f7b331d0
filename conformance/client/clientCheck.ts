import type { Check } from '../report.ts';
import type { Stage } from './stage.ts';

/** One check of a client program: a scenario, after which nothing may be left that it has not expected. */
export interface ClientCheck extends Check<Stage> {
  /** The program has exited after it. */
  readonly endsProgram?: true;
}
