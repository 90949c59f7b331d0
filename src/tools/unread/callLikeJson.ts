import { isJsonObject, type JsonObject, type JsonValue } from '../json/value.ts';
import type { LooseJson } from './looseJson.ts';

/** The keys under which models write the parts of a call, in whatever format. */
const nameKeys = ['name', 'tool', 'function'];
const argumentKeys = ['arguments', 'parameters', 'args', 'input'];
const wrapperKeys = ['tool_calls', 'tool_call', 'function_call', 'function'];
const metadataKeys: ReadonlySet<string> = new Set(['type', 'id', 'call_id', 'tool_call_id', 'index']);

/** Why JSON that looks like a call is none: words that follow "it"; undefined: it does not look like a call. */
export function whyNoCall(text: string, json: LooseJson, toolNames: ReadonlySet<string>): string | undefined {
  if (json.value !== undefined) return whyNoCallValue(json.value, toolNames);
  const content = text.slice(json.start, json.end);
  if (!looksLikeCall(content, json, toolNames)) return undefined;
  if (json.isCutOff) return 'is cut off by the end of the text';
  return json.isHeadless ? 'lacks its opening brace' : 'is malformed';
}

// Deeper, a call is an example in data.
const maxDepth = 4;

function whyNoCallValue(value: JsonValue, toolNames: ReadonlySet<string>, depth = 0): string | undefined {
  if (depth > maxDepth) return undefined;
  if (Array.isArray(value)) return firstDefined(value, (item) => whyNoCallValue(item, toolNames, depth + 1));
  if (!isJsonObject(value)) return undefined;
  const why = whyNoCallObject(value, toolNames, depth);
  if (why !== undefined) return why;
  return firstDefined([...value], ([key, member]) =>
    typeof member === 'object' && member !== null
      ? whyNoCallValue(member, toolNames, wrapperKeys.includes(key) ? depth : depth + 2)
      : undefined,
  );
}

function whyNoCallObject(members: JsonObject, toolNames: ReadonlySet<string>, depth: number): string | undefined {
  const nameKey = nameKeys.find((key) => typeof members.get(key) === 'string');
  const argumentKey = argumentKeys.find((key) => members.has(key));
  const isDeclared = nameKey !== undefined && toolNames.has(String(members.get(nameKey)).trim());
  const others = [...members.keys()].filter((key) => key !== nameKey && key !== argumentKey && !metadataKeys.has(key));
  if (argumentKey === undefined) {
    if (!isDeclared || depth > 1) return undefined;
    return others.length === 0 ? 'is not in the form of the calls' : `has no arguments, but a member "${others[0]}"`;
  }
  const args = members.get(argumentKey);
  const isObject = args !== undefined && isJsonObject(args);
  if (nameKey === undefined) {
    const isAlone = depth <= 1 && others.every((key) => nameKeys.includes(key));
    return isAlone && (isObject || others.length > 0) && argumentKey !== 'input' ? 'has no name' : undefined;
  }
  if (!isDeclared && depth > 1) return undefined;
  if (!isDeclared && argumentKey !== 'arguments' && !isObject && !isNested(args)) return undefined;
  if (members.has('description')) return 'repeats the declaration of a tool';
  if (others.length > 0) return `has a member "${others[0]}" in addition to name and arguments`;
  return isObject || args === null || args === ''
    ? 'is not in the form of the calls'
    : 'has arguments that are no object';
}

const isNested = (value: JsonValue | undefined): boolean =>
  Array.isArray(value) || (typeof value === 'string' && value.trimStart().startsWith('{'));

const memberPattern = /["'“”]?([A-Za-z_]{3,16})["'“”]?\s*[:=]\s*(?:["'“”]?([\w.-]+)|([{["'“<])|$)/g;

/** Whether malformed JSON has the members of a call. */
function looksLikeCall(content: string, { isCutOff, isHeadless }: LooseJson, toolNames: ReadonlySet<string>): boolean {
  let hasName = false;
  let hasDeclaredName = false;
  let hasArguments = false;
  for (const [, key = '', word, opening] of content.matchAll(memberPattern)) {
    const isDeclared = word !== undefined && toolNames.has(word);
    const kind = kindOfKey(key);
    if (isDeclared && kind !== 'arguments') hasDeclaredName = true;
    if (kind === 'name') hasName = true;
    if (kind === 'arguments' && (word === undefined || argumentKeys.includes(key))) {
      hasArguments = true;
      if (opening === '{' && key !== 'input') hasName ||= isHeadless || content.trimStart().startsWith('{"arg');
    }
  }
  if (hasDeclaredName || (hasName && hasArguments)) return true;
  if (hasArguments && [...toolNames].some((name) => content.includes(`"${name}`))) return true;
  return isCutOff && startsCall(content, toolNames);
}

/** What a key may stand for, one letter off included. */
function kindOfKey(key: string): 'name' | 'arguments' | undefined {
  if (nameKeys.includes(key)) return 'name';
  if (argumentKeys.includes(key)) return 'arguments';
  return undefined;
}

const cutOffName =
  /^[[\s]*\{\s*(?:["']?(?:type|id)["']?\s*:\s*["'][\w-]*["']\s*,\s*)?(?:["']?([a-z_]*)(?:["']\s*(?::\s*(?:["']([\w.-]*)["']?\s*)?)?)?)?$/;

/** Whether a text that is cut off can only be the start of a call. */
function startsCall(content: string, toolNames: ReadonlySet<string>): boolean {
  const match = cutOffName.exec(content);
  if (!match) return false;
  const [, key = '', name] = match;
  if (![...nameKeys, ...wrapperKeys, 'type'].some((known) => known.startsWith(key))) return false;
  if (name === undefined) return true;
  return toolNames.size === 0 || [...toolNames].some((known) => known.startsWith(name));
}

function firstDefined<Item, Result>(
  items: readonly Item[],
  find: (item: Item) => Result | undefined,
): Result | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
