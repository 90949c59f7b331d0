import { distance } from 'fastest-levenshtein';
import { isJsonObject, type JsonObject, type JsonValue } from '../json/value.ts';
import { isSimilar } from './markFinder.ts';

// The keys under which models write the parts of a call, in whatever format.
export const nameKeys = ['name', 'tool', 'function'];
export const argumentKeys = ['arguments', 'parameters', 'args', 'input'];
export const metadataKeys: ReadonlySet<string> = new Set(['type', 'id', 'call_id', 'tool_call_id', 'index']);
export const wrapperKeys = ['function', 'tool_calls', 'tool_call', 'function_call'];

/** The keys of an object that are neither given ones nor of metadata. */
export const keysBeside = (members: JsonObject, ...known: readonly (string | undefined)[]): readonly string[] =>
  [...members.keys()].filter((key) => !known.includes(key) && !metadataKeys.has(key));

// Deeper, a call is an example in data.
const maxCallDepth = 4;

/** Why JSON that looks like a call is none, in words that follow "it"; undefined: it does not look like a call. */
export function whyNoCall(value: JsonValue, toolNames: ReadonlySet<string>, depth = 0): string | undefined {
  if (depth > maxCallDepth) return undefined;
  const isObject = isJsonObject(value);
  const why = isObject ? whyNoCallObject(value, toolNames, depth <= 1) : undefined;
  if (why !== undefined) return why;
  const nested = isObject ? [...value] : Array.isArray(value) ? value.map((item) => ['', item] as const) : [];
  for (const [key, member] of nested) {
    const steps = !isObject ? 1 : wrapperKeys.includes(key) ? 0 : 2;
    const found = whyNoCall(member, toolNames, depth + steps);
    if (found !== undefined) return found;
  }
  return undefined;
}

function whyNoCallObject(members: JsonObject, toolNames: ReadonlySet<string>, isOuter: boolean): string | undefined {
  const argumentKey = [...members.keys()].find((key) => argumentKeys.includes(key.replaceAll(/\W/g, '')));
  const isToolName = (key = ''): boolean => {
    const value = members.get(key);
    const word = typeof value === 'string' ? (/\w(?:[^]*\w)?/.exec(value)?.[0] ?? '') : '';
    const isLike = (name: string): boolean => isMisspelled(word, name) || (/^\S+$/.test(word) && word.includes(name));
    return [...toolNames].some((name) => name === word || (argumentKey !== undefined && isLike(name)));
  };
  const nameKey =
    nameKeys.find((key) => typeof members.get(key) === 'string') ??
    [...members.keys()].find((key) => isToolName(key) && isNameKey(key));
  const others = keysBeside(members, nameKey, argumentKey);
  const args = members.get(argumentKey ?? '');
  const isObject = args !== undefined && isJsonObject(args);
  if (!isToolName(nameKey)) {
    const hasOwnKey = argumentKey !== undefined && /^\W*arg/.test(argumentKey);
    const isAlone =
      others.length === 0 ||
      (others.length === 1 && (hasOwnKey || isToolName(others[0]) || isNameKey(others[0] ?? '')));
    if (nameKey === undefined)
      return isOuter && isObject && isAlone && argumentKey !== 'input' ? 'has no name' : undefined;
    const holdsMore = isObject || Array.isArray(args) || (typeof args === 'string' && args.trimStart().startsWith('{'));
    if (argumentKey === undefined || !isOuter || !(argumentKey === 'arguments' || holdsMore)) return undefined;
    // Other data has an input, or parameters and more.
    const isData = nameKey === 'name' && !hasOwnKey && (argumentKey === 'input' || others.length > 0);
    if (toolNames.size > 0) return isData ? undefined : 'names no tool that is offered';
  }
  if (argumentKey === undefined && !isOuter) return undefined;
  if (!nameKeys.includes(nameKey ?? '')) return 'has no name';
  if (members.has('description')) return 'repeats the declaration of a tool';
  if (others.length > 0)
    return argumentKey === undefined
      ? `has no arguments, but a member "${others[0]}"`
      : `has a member "${others[0]}" in addition to name and arguments`;
  const isRead = isObject || args === undefined || args === null || args === '';
  return isRead ? 'is not in the form of the calls' : 'has arguments that are no object';
}

function isNameKey(key: string): boolean {
  const word = key.replaceAll(/\W/g, '');
  return word === '' || distance(word, 'name') < 3 || /name|tool|func/.test(word);
}

/** Whether a word is the name of a tool with one letter wrong: short names differ by no more from other words. */
export const isMisspelled = (word: string, name: string): boolean => name.length > 4 && isSimilar(name, word);
