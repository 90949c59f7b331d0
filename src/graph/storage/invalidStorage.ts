import { Fault } from '../../protocol/fault.ts';

/** The error for strings, keys or a file that no storage can be created from. */
export const invalidStorage = (message: string, cause?: unknown): Fault =>
  new Fault('INVALID_STRING_STORAGE_DATA', message, { cause });

/** How many mistakes of a storage are told. */
export const maxProblems = 20;

export class InvalidEntries extends Fault {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const more = problems.length > 1 ? `; turngraph check shows ${problems.length - 1} more` : '';
    super('INVALID_STRING_STORAGE_DATA', `${problems[0]}${more}`);
    this.problems = problems;
  }
}
