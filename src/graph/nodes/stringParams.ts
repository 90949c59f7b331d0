import { assertCount, type EffectsContext, InvalidParams, paramError, type NodeContext } from '../compile/node.ts';
import type { Turn } from '../compile/turn.ts';
import { Fault } from '../../protocol/fault.ts';
import { errorsBelow, type SchemaError } from '../../protocol/schema.ts';
import { array, object, string } from '../../protocol/schemaBuilders.ts';
import type { EntryFilter } from '../retrieval/filter/filter.ts';
import { maxProblems } from '../storage/invalidStorage.ts';
import { createList, type StringStorage } from '../storage/stringStorage.ts';
import { compilePatterns, findTotalSizeError, type PatternFold, type PatternMatcher } from '../storage/patternSet.ts';

/** Parameters of nodes that use a list of strings: a string storage, or a list in the graph. */
export const stringParams = (what: string) =>
  ({
    string_storage: string(
      { minLength: 1, live: true },
      `${what}: the name of a storage of the session, or a path under the storage folder.`,
    ),
    inline_strings: array({ items: { type: 'string' }, default: [] }, `${what}, in the graph itself.`),
  }) as const;

export const vectorParams = {
  embedding_model: string(
    { default: '' },
    'For vectors: a model of models.json with "purpose": "embedding"; "" = the one that the storage names.',
  ),
  filter: object(
    { live: true },
    'Which entries are searched, by their metadata: {"min_level": {"$lte": {"$variable": "level"}}}.',
  ),
} as const;

export const foldParam = string(
  { enum: ['forms', 'confusables'], default: 'forms' },
  'What patterns take for the same. forms: other forms of a character (NFC and NFD, full width) and of a space, with or without invisible characters, vowel points and stress marks; confusables: also letters with accents that the pattern lacks, and letters of other scripts that look like Latin ones, by the table of Unicode.',
);

export interface ResolvedStorage {
  readonly storage: StringStorage;
  /** The parameter that it comes from. */
  readonly param: 'string_storage' | 'inline_strings';
}

export interface StringParams {
  readonly string_storage?: string;
  readonly inline_strings: readonly string[];
}

/** The strings of a node: its storage's, else the graph's. @throws InvalidParams as `resolveStorage`, for KNOWLEDGE. */
export async function resolveStrings(params: StringParams, context: EffectsContext): Promise<ResolvedStorage> {
  const resolved = await resolveStorage(params, context);
  if (resolved.storage.kind !== 'KNOWLEDGE') return resolved;
  const message = `names the KNOWLEDGE storage "${params.string_storage}", and this node takes a LIST, a MAP or a MULTIMAP`;
  throw new InvalidParams([{ pointer: '/string_storage', message }]);
}

/** Turns an error in the list of a storage (pointer `/index`) into an error in the parameters of the node. */
export function toParamError({ storage, param }: ResolvedStorage, error: SchemaError): SchemaError {
  const { pointer, message } = error;
  if (param === 'inline_strings') return { ...error, pointer: `/inline_strings${pointer}` };
  const { placeOf = (index: number) => `entry ${index}` } = storage;
  const place = pointer === '' ? '' : `${placeOf(Number(pointer.slice(1)))} `;
  return { ...error, pointer: '/string_storage', message: place + message };
}

/**
 * Finds the KNOWLEDGE that a node names.
 * @param why it has to be one, for messages.
 * @throws InvalidParams when the storage cannot be read, does not exist or is of another kind.
 */
export async function resolveKnowledge(name: string, { strings }: Pick<NodeContext, 'strings'>, why: string) {
  const storage = await strings(name).catch((error: unknown) => {
    throw paramError('/string_storage', error);
  });
  const { kind, knowledge } = storage;
  if (knowledge) return { storage, knowledge };
  const message = `names the ${kind} storage "${name}", and ${why}`;
  throw new InvalidParams([{ pointer: '/string_storage', message }]);
}

/**
 * Finds the storage of a node: the one it names, of any kind, else the strings in the graph as a LIST.
 * @throws InvalidParams when there are too many strings, when the storage cannot be read, or does not exist and the graph has
 * no strings.
 */
export async function resolveStorage(
  { string_storage, inline_strings }: StringParams,
  { nodeName, strings, warn, limits }: EffectsContext,
): Promise<ResolvedStorage> {
  assertCount('/inline_strings', inline_strings.length, 'entries', limits.maxPatterns);
  const inline: ResolvedStorage = { storage: createList(inline_strings), param: 'inline_strings' };
  if (string_storage === undefined) return inline;
  try {
    const storage = await strings(string_storage);
    if (inline_strings.length > 0)
      warn(`${nodeName}.params.inline_strings is not used: the storage "${string_storage}" exists`);
    return { storage, param: 'string_storage' };
  } catch (error) {
    if (!(error instanceof Fault && error.name === 'STORAGE_FILE_NOT_FOUND') || inline_strings.length === 0)
      throw paramError('/string_storage', error);
    warn(`${nodeName}.params.string_storage: ${error.message}; inline_strings are used`);
    return inline;
  }
}

export function warnOfAbsent(filter: EntryFilter | undefined, nodeName: string, turn: Turn): void {
  for (const name of filter?.variables ?? [])
    if (!Object.hasOwn(turn.variables, name))
      turn.warn(
        `${nodeName}.params.filter has the variable "${name}", which this turn does not have: no entry matches that condition`,
      );
}

export const invalidStrings = (strings: ResolvedStorage, errors: readonly SchemaError[]): InvalidParams =>
  new InvalidParams(errors.slice(0, maxProblems).map((error) => toParamError(strings, error)));

/** Warns of parameters that are given, and are not used with what the node matches by. */
export function warnOfUnused(
  match: string,
  given: Readonly<Record<string, unknown>>,
  { nodeName, warn }: Pick<NodeContext, 'nodeName' | 'warn'>,
): void {
  for (const [name, value] of Object.entries(given))
    if (value) warn(`${nodeName}.params.${name} is not used with "match": "${match}"`);
}

/**
 * Compiles the `patterns` of each entry of a list parameter (`/labels`, `/guidelines`), in the order of the list. An entry
 * without patterns never matches.
 * @param errors other errors in the entries.
 * @throws InvalidParams with all errors in the entries, LIMIT_EXCEEDED when there are too many patterns in all.
 */
export async function compileEntryPatterns(
  pointer: string,
  entries: readonly { readonly patterns?: readonly string[] }[],
  fold: PatternFold,
  { limits, setMade }: Pick<NodeContext, 'limits' | 'setMade'>,
  errors: readonly SchemaError[] = [],
): Promise<readonly PatternMatcher[]> {
  const count = entries.reduce((sum, { patterns = [] }) => sum + patterns.length, 0);
  assertCount(pointer, count, 'patterns in all', limits.maxPatterns, errors);
  const sizeError = await findTotalSizeError(entries.map(({ patterns = [] }) => patterns));
  if (sizeError) throw new InvalidParams([...errors, { ...sizeError, pointer }]);
  const matchers: PatternMatcher[] = [];
  const allErrors = [...errors];
  for (const [index, { patterns = [] }] of entries.entries()) {
    const reading = await compilePatterns(patterns, fold, entries.length);
    if (reading.ok) matchers.push(reading.value);
    else allErrors.push(...errorsBelow(`${pointer}/${index}/patterns`, reading.errors));
  }
  if (allErrors.length > 0) throw new InvalidParams(allErrors);
  const bytes = matchers.reduce((sum, matcher) => sum + matcher.bytes, 0);
  setMade(matchers, bytes);
  return matchers;
}
