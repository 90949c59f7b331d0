/** What cannot be done with a model, and why: a sentence. Absent: it can be done. */
export interface ModelLimits {
  /** Decoding by a grammar. */
  readonly grammars?: string;
  /** Sampling parameters that have no effect. */
  readonly samplers?: string;
  /** Scoring answers. */
  readonly scores?: string;
}
