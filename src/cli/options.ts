import { didYouMean } from '../base/didYouMean.ts';
import { Option, type Command } from 'commander';
import type { OptionSchema, ServerOptions } from '../server/config.ts';
import { readServerOptions, serverSchema, variableOf, variablePrefix } from '../server/config.ts';

/** Wrong usage of a command: the message is printed to stderr, and the exit code is 2. */
export class UsageError extends Error {}

const properties: Readonly<Record<string, OptionSchema>> = serverSchema.properties;

/** What is true by default is turned off: `playground` -> `--no-playground`. */
const flagOf = (option: string): string =>
  `--${properties[option]?.default === true ? 'no-' : ''}${option.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`;

const argumentOf: Readonly<Record<string, string>> = {
  boolean: '',
  array: ' <value...>',
  integer: ' <n>',
  number: ' <n>',
  string: ' <value>',
};

/** Adds server options to a command as flags: those named, or all of them in groups. */
export function serverFlags(command: Command, names?: readonly string[]): Command {
  for (const name of names ?? Object.keys(properties).toSorted((a, b) => groupOf(a).rank - groupOf(b).rank)) {
    const schema = properties[name];
    if (!schema) throw new TypeError(`no server option ${name}`);
    const option = new Option(flagOf(name) + (argumentOf[schema.type ?? ''] ?? ''), helpOf(name, schema));
    if (schema.enum) option.choices(schema.enum.map(String));
    // A flag that is absent has no value: then its variable has.
    if (schema.default === true) option.default(null);
    if (!names) option.helpGroup(groupOf(name).heading);
    command.addOption(option);
  }
  return command;
}

const firstOptions: ReadonlySet<string> = new Set(['port', 'host', 'token', 'graphs', 'catalogue', 'preload']);

function groupOf(name: string): { readonly heading: string; readonly rank: number } {
  if (firstOptions.has(name)) return { heading: 'Options:', rank: 0 };
  return /^max[A-Z]|Limit$|Timeout$|^resumeGrace$|^modelIdle$/.test(name)
    ? { heading: 'Limits:', rank: 2 }
    : { heading: 'More options:', rank: 1 };
}

/** The options of how a model is loaded and where it runs. */
export const engineOptions: readonly string[] =
  'threads gpu gpuLayers gpuDevice memoryLimit vramLimit engineProcess'.split(' ');

function helpOf(name: string, { description, default: defaultValue }: OptionSchema): string {
  const defaultText =
    defaultValue === undefined || String(defaultValue) === '' || typeof defaultValue === 'boolean'
      ? ''
      : `default ${String(defaultValue)}, `;
  return `${description} (${defaultText}${variableOf(name)})`;
}

/** Server options: from flags, then environment variables, then defaults. @throws UsageError that names the flag. */
export function serverOptions(flags: ServerFlags): ServerOptions {
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = flags[name] ?? process.env[variableOf(name)];
    if (value !== undefined) values[name] = parseValue(value, schema);
  }
  const reading = readServerOptions(values);
  if (reading.ok) return reading.value;
  const [error] = reading.errors;
  const name = error?.pointer.split('/')[1] ?? '';
  throw new UsageError(`${flagOf(name)} (${variableOf(name)}) ${error?.message ?? 'is not allowed'}`);
}

/** A sentence for each environment variable that is a misspelt option. */
export function misspeltVariables(env: NodeJS.ProcessEnv): readonly string[] {
  const known = Object.keys(properties).map(variableOf);
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith(variablePrefix) || known.includes(name)) return [];
    const withoutPrefix = (variable: string): string => variable.slice(variablePrefix.length);
    const hint = didYouMean(withoutPrefix(name), known.map(withoutPrefix));
    return hint ? [`${name} is no option, and is ignored${hint.replace('"', `"${variablePrefix}`)}`] : [];
  });
}

/** The flags of a command that are server options, before they are read. */
export type ServerFlags = Readonly<Record<string, unknown>>;

/** The options of a server that a command starts for itself: quiet, on a free port, with the models as they are now. */
export const ownServerOptions = (flags: ServerFlags): ServerOptions =>
  serverOptions({ ...flags, port: 0, logLevel: 'error', watchModels: 'off' });

const booleans = new Map(Object.entries({ true: true, 1: true, false: false, 0: false, '': false }));

// Converts the text of a flag or variable to the type of its option; other text is left for the schema to reject.
function parseValue(value: unknown, { type }: OptionSchema): unknown {
  if (typeof value !== 'string') return value;
  switch (type) {
    case 'integer':
    case 'number':
      return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
    case 'boolean':
      return booleans.get(value) ?? value;
    case 'array':
      return value.split(',').filter((item) => item !== '');
    default:
      return value;
  }
}
