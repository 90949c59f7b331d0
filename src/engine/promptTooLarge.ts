import { Fault } from '../fault.ts';

/** The refusal of a prompt that leaves no room for an answer (both in tokens). */
export const promptTooLargeFault = (prompt: number, contextSize: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `the prompt has ${prompt} tokens and leaves no room for an answer in a context of ${contextSize}: ` +
      'shorten the system message, the tools or the message, or raise context_size',
  );
