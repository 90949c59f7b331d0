// Command-line arguments of the scripts; invalid ones end the process with exit code 2 and a message.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** Parses the command line with `parseArgs` of node:util. With `--help` it prints the comment at the top of the script. */
export function readArguments(description) {
  if (process.argv.includes('--help')) {
    const [comment = ''] = /^(?:\/\/.*\n)+/.exec(readFileSync(process.argv[1], 'utf8')) ?? [];
    console.log(comment.replaceAll(/^\/\/ ?/gm, '').trimEnd());
    process.exit();
  }
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

/** The number of an option, from 0 to 1; undefined when the option is not set. */
export function fraction(option, text) {
  if (text === undefined) return undefined;
  if (!/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/.test(text))
    exitWithUsageError(`--${option} must be a number from 0 to 1, not "${text}"`);
  return Number(text);
}

/** Ends the process unless all names are known. `what` is the word for such a name in the message. */
export function assertKnown(what, names, known) {
  const all = [...known];
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) exitWithUsageError(`no ${what} is called "${unknown}"; there are: ${all.join(', ')}`);
}
