import { Option, type Command } from 'commander';
import { readServerOptions, serverSchema, variableOf, type OptionSchema, type ServerOptions } from '../config.ts';

/** A command that was called wrongly: its message goes to stderr, and the exit code is 2. */
export class UsageError extends Error {}

const properties: Readonly<Record<string, OptionSchema>> = serverSchema.properties;

const flagOf = (option: string): string => `--${option.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`;

const argumentOf: Readonly<Record<string, string>> = {
  boolean: '',
  array: ' <value...>',
  integer: ' <n>',
  number: ' <n>',
  string: ' <value>',
};

/** Gives a command the options of the server, all of them or those named, as the schema has them. */
export function serverFlags(command: Command, names: readonly string[] = Object.keys(properties)): Command {
  for (const name of names) {
    const schema = properties[name];
    if (!schema) throw new TypeError(`no server option ${name}`);
    const option = new Option(flagOf(name) + (argumentOf[schema.type ?? ''] ?? ''), helpOf(name, schema));
    if (schema.enum) option.choices(schema.enum.map(String));
    command.addOption(option);
  }
  return command;
}

function helpOf(name: string, { description, default: standard }: OptionSchema): string {
  const shown =
    standard === undefined || standard === '' || String(standard) === '' || standard === false
      ? ''
      : `default ${String(standard)}, `;
  return `${description} (${shown}${variableOf(name)})`;
}

/** Server options from flags, then the environment, then defaults. @throws UsageError that names the flag. */
export function serverOptions(flags: Readonly<Record<string, unknown>>): ServerOptions {
  const given: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = flags[name] ?? process.env[variableOf(name)];
    if (value !== undefined) given[name] = valueOf(value, schema);
  }
  const reading = readServerOptions(given);
  if (reading.ok) return reading.value;
  const [refusal] = reading.errors;
  const name = refusal?.pointer.split('/')[1] ?? '';
  throw new UsageError(`${flagOf(name)} (${variableOf(name)}) ${refusal?.message ?? 'is not allowed'}`);
}

const truths = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  ['', false],
]);

// Flags and variables are text; what does not read as its type is left for the schema to refuse.
function valueOf(value: unknown, { type }: OptionSchema): unknown {
  if (typeof value !== 'string') return value;
  switch (type) {
    case 'integer':
    case 'number':
      return value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value);
    case 'boolean':
      return truths.get(value) ?? value;
    case 'array':
      return value.split(',').filter((item) => item !== '');
    default:
      return value;
  }
}
