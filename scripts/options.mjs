// What a script is asked for on its command line; what it does not understand ends it with 2 and a sentence.
import { parseArgs } from 'node:util';

/** The options and positionals that `parseArgs` reads by this description. */
export function readArguments(description) {
  try {
    return parseArgs(description);
  } catch (error) {
    return exitWithUsageError(error.message);
  }
}

/** Says why, and ends the script. */
export function exitWithUsageError(message) {
  console.error(message);
  process.exit(2);
}
