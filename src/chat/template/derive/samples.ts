import type { ReplyMarks } from '../../replyMarks.ts';

/** A call that a conversation had when it was rendered. */
export interface SampleCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An assistant message with calls as a chat template writes it, from the generation prompt to the end of the prompt. */
export interface CallSample {
  readonly text: string;
  readonly calls: readonly SampleCall[];
}

/** The messages from which a layout is derived. Their names, keys and values occur once in each text. */
export interface LayoutSamples {
  /** One call with the parameters of `sampleArguments`. */
  readonly one: CallSample;
  /** One call without arguments; undefined: the template refuses it. */
  readonly empty: CallSample | undefined;
  /** Two calls with the parameters of `sampleArguments`; undefined: the template writes one call only. */
  readonly two: CallSample | undefined;
  /** A message without calls. */
  readonly plain: { readonly text: string; readonly answer: string };
  /** One call after text or reasoning, which may be left out; the call is that of `one`. */
  readonly preceded: readonly { readonly text: string; readonly preceding: string }[];
  /** One call with a list of strings; undefined: the template refuses it. */
  readonly list: CallSample | undefined;
  /** true, false and null as arguments, or only the first two, if they are written. */
  readonly literals: CallSample | undefined;
  /** Those of the template's replies. */
  readonly marks: ReplyMarks;
}

/** Calls are written in no known notation; the message says what could not be explained. */
export class UnknownLayout extends Error {}
