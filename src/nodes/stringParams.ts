import { InvalidParams, paramError, type NodeContext } from '../graph/node.ts';
import { Fault } from '../fault.ts';
import type { SchemaError, Schema } from '../schema.ts';

/** Parameters of the nodes that read a list of strings. */
export const stringParams = (what: string) =>
  ({
    string_storage: {
      type: 'string',
      minLength: 1,
      live: true,
      description: `${what}: the name of a storage of the session, or a path under the storage folder.`,
    },
    inline_strings: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: `${what}, in the graph itself.`,
    },
  }) as const satisfies Readonly<Record<string, Schema>>;

/** The strings of a node, and where a refusal of one of them points. */
export interface ResolvedStrings {
  readonly list: readonly string[];
  /** Turns a refusal of the list (pointer `/index`) into one of the node's parameters. */
  at(refusal: SchemaError): SchemaError;
}

/** The strings that a node means: its storage, or those in the graph when it names none or there is none of the name. */
export async function resolveStrings(
  { string_storage, inline_strings }: { readonly string_storage?: string; readonly inline_strings: readonly string[] },
  { nodeName, strings, warn, limits }: NodeContext,
): Promise<ResolvedStrings> {
  if (inline_strings.length > limits.patterns) {
    const count = inline_strings.length;
    throw new Fault(
      'LIMIT_EXCEEDED',
      `${nodeName}.params.inline_strings has ${count} entries, and ${limits.patterns} are allowed`,
    );
  }
  const inline: ResolvedStrings = {
    list: inline_strings,
    at: ({ pointer, message }) => ({ pointer: `/inline_strings${pointer}`, message }),
  };
  if (string_storage === undefined) return inline;
  try {
    const { list } = await strings(string_storage);
    if (inline_strings.length > 0)
      warn(`${nodeName}.params.inline_strings is not used: the storage "${string_storage}" is there`);
    return {
      list,
      at: ({ pointer, message }) => ({
        pointer: '/string_storage',
        message: pointer === '' ? message : `entry ${pointer.slice(1)} ${message}`,
      }),
    };
  } catch (error) {
    if (!(error instanceof Fault && error.name === 'STORAGE_FILE_NOT_FOUND') || inline_strings.length === 0) {
      throw paramError('/string_storage', error);
    }
    warn(`${nodeName}.params.string_storage: ${error.message}; inline_strings are used`);
    return inline;
  }
}

/** Refuses a node's parameters for what is wrong with its strings. */
export const invalidStrings = (strings: ResolvedStrings, errors: readonly SchemaError[]): InvalidParams =>
  new InvalidParams(errors.map((refusal) => strings.at(refusal)));
