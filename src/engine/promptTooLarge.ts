import { Fault } from '../fault.ts';

/** The error for a prompt that fills the context, so that no token can be generated (both sizes in tokens). */
export const promptTooLargeFault = (prompt: number, contextSize: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `the prompt has ${prompt} tokens and leaves no room for an answer in a context of ${contextSize}: ` +
      'shorten the system message, the tools or the message, or raise context_size',
  );
