/** Markup in a model's text that opened a call and gave none. */
export interface MalformedCall {
  /** The markup and what it opened, as the model wrote it. */
  readonly text: string;
  /** Why it is no call, in plain English without a full stop. */
  readonly reason: string;
}
