import { Fault } from '../../protocol/fault.ts';

/** The error for strings, keys or a file that no storage can be created from. */
export const invalidStorage = (message: string, cause?: unknown): Fault =>
  new Fault('INVALID_STRING_STORAGE_DATA', message, { cause });
