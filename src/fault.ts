import { codes, type CodeName } from './frames.gen.ts';

export interface FaultOptions {
  readonly cause?: unknown;
  /** More for machines, as JSON text: for a graph the list of all its faults. */
  readonly detail?: string;
}

/**
 * The one error of turngraph: a code of the protocol (proto, `ErrorResponse.Code`) and one sentence that names the place
 * and the mend.
 */
export class Fault extends Error {
  override readonly name: CodeName;
  readonly detail: string;

  constructor(name: CodeName, message: string, options: FaultOptions = {}) {
    super(truncateMessage(message), { cause: options.cause });
    this.name = name;
    this.detail = options.detail ?? '';
  }

  /** The number of the error on the wire. */
  get code(): number {
    return codes[this.name];
  }

  /** Any thrown value as a Fault; what is none becomes INTERNAL, whose message tells nothing of the cause. */
  static from(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown;
    return new Fault('INTERNAL', 'the server failed inside; its log says where', { cause: thrown });
  }
}

const maxMessageLength = 600;

/** A sentence that quotes a client may be of any length: its beginning says enough. */
export const truncateMessage = (sentence: string): string =>
  sentence.length > maxMessageLength ? `${sentence.slice(0, maxMessageLength)}…` : sentence;

/** The message of any thrown value. */
export const describeError = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
