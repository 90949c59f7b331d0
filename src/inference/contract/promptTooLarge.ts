import { Fault } from '../../protocol/fault.ts';

/**
 * The error for a prompt that leaves no room for its answer in the context (all sizes in tokens).
 * @param answer tokens of the longest answer that is to be scored; undefined: an answer of any length.
 */
export const promptTooLargeFault = (prompt: number, contextSize: number, answer?: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `the prompt has ${prompt} tokens and leaves no room for an answer${answer === undefined ? '' : ` of ${answer}`} ` +
      `in a context of ${contextSize}: shorten the system message, the tools or the message, or raise context_size`,
  );
