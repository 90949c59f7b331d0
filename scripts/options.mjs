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

/** The number of an option, at least `min`; undefined when the option is not set. */
export function wholeNumber(option, text, min = 1) {
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) < min)
    exitWithUsageError(`--${option} must be a whole number from ${min}, not "${text}"`);
  return Number(text);
}

/** Ends the process unless all names are known. `what` is the word for such a name in the message. */
export function assertKnown(what, names, known) {
  const all = [...known];
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) exitWithUsageError(`no ${what} is called "${unknown}"; there are: ${all.join(', ')}`);
}
