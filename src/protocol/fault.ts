import { codes, type CodeName } from './frames.gen.ts';

export interface FaultOptions {
  readonly cause?: unknown;
  /** More for programs, as JSON text: for a graph the list of all its faults. */
  readonly detail?: string;
}

/**
 * The error class of turngraph: an error code of the protocol (proto, `ErrorResponse.Code`) and one sentence that names
 * the place and the fix.
 */
export class Fault extends Error {
  /** The name of the error code, such as `MODEL_NOT_ON_DISK`. */
  override readonly name: CodeName;
  /** More for programs, as JSON text; "" = none. */
  readonly detail: string;

  constructor(name: CodeName, message: string, options: FaultOptions = {}) {
    super(truncateMessage(message), options);
    this.name = name;
    this.detail = options.detail ?? '';
  }

  /** The number of the error code on the wire. */
  get code(): number {
    return codes[this.name];
  }

  /** Any thrown value as a Fault. Other values become INTERNAL, with a message that does not leak the cause to the client. */
  static from(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown;
    return new Fault('INTERNAL', 'internal server error; see the server log', { cause: thrown });
  }
}

/** A MALFORMED_MESSAGE error that names the place and the fix: `text must be a string, not 3`. */
export const malformed = (sentence: string, cause?: unknown): Fault =>
  new Fault('MALFORMED_MESSAGE', sentence, { cause });

/** A fault in one line for people: `MODEL_NOT_ON_DISK (2001): there is no file`. */
export const describeFault = (fault: Pick<Fault, 'code' | 'message'> & { readonly name: string }): string =>
  `${fault.name} (${fault.code}): ${fault.message}`;

const maxMessageCharacters = 600;

/** The first 600 characters of a message: one that quotes a client may be of any length. */
export const truncateMessage = (sentence: string): string =>
  sentence.length > maxMessageCharacters ? `${sentence.slice(0, maxMessageCharacters)}…` : sentence;

/** The message of any thrown value, whether it is an Error or not. */
export const describeError = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
