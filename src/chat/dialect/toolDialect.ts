import type { CallLayout } from './layout.ts';

/** The form in which calls are given to a chat template, so that it writes them. */
export interface CallMessageForm {
  /** As an object, or as JSON text (OpenAI's form). */
  readonly arguments: 'object' | 'string';
  /** Content of a message that has only calls. */
  readonly content: '' | null;
  /** `functions`: the template writes the id in place of the name, which must be `functions.NAME:INDEX`. */
  readonly ids: 'any' | 'functions';
}

export interface CallConvention extends CallMessageForm {
  readonly severalCalls: boolean;
  /** Whether a message may have both text and calls; a template that takes only one of them may leave the calls out. */
  readonly textWithCalls: boolean;
}

export interface ProbeVerdict {
  readonly name: string;
  readonly required: boolean;
  readonly ok: boolean;
  /** Why not; "" where it is ok. */
  readonly why: string;
}

/** The tool-call dialect of a model, read off its chat template; plain data. */
export interface ToolDialect {
  /** The format that the template proves: one of the four, or `native`; undefined: none. */
  readonly format: string | undefined;
  /** Why it is that format, or why none: a sentence without a full stop. */
  readonly because: string;
  /** Whether the template writes the declarations of tools. */
  readonly knowsTools: boolean;
  /** What the template leaves out of these declarations; absent: nothing that is known. */
  readonly omits?: readonly string[];
  /** The layout of the calls where it could be read off and proved itself, whichever `format` is. */
  readonly layout: CallLayout | undefined;
  /** How the template takes the calls of the history; undefined: it leaves them out. */
  readonly convention: CallConvention | undefined;
  /** Whether the template writes results: messages of role `tool`. */
  readonly writesResults: boolean;
  /** The probes of the format, or of the native layout that failed. */
  readonly probes: readonly ProbeVerdict[];
}

/** The dialect of a model that has no chat template. */
export const noDialect = (because: string): ToolDialect => ({
  format: undefined,
  because,
  knowsTools: false,
  layout: undefined,
  convention: undefined,
  writesResults: false,
  probes: [],
});
