// Command-line arguments of the scripts; invalid ones end the process with exit code 2 and a message.
import { parseArgs } from 'node:util';

/** Parses the command line with `parseArgs` of node:util. */
export function readArguments(description) {
  try {
    return parseArgs(description);
  } catch (error) {
    return exitWithUsageError(error.message);
  }
}

/** Prints a message and exits with code 2. */
export function exitWithUsageError(message) {
  console.error(message);
  process.exit(2);
}
