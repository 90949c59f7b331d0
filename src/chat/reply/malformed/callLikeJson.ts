import { endOfMatch, parseJsonAt } from '../../json/lenientParser.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import { argumentKeys, metadataKeys, nameKeys, wrapperKeys } from '../detect/callShape.ts';
import type { LooseJson } from './looseJson.ts';
import { type MarkFinder, isSimilar } from './markFinder.ts';

/** Why JSON that looks like a call is none: words that follow "it"; undefined: it does not look like a call. */
export function whyNoCall(
  text: string,
  json: LooseJson,
  finder: MarkFinder,
  toolNames: ReadonlySet<string>,
): string | undefined {
  const content = text.slice(json.start, json.end);
  const unmarked = finder.replace(content, () => '');
  const isMarked = unmarked.length < content.length;
  if (json.value !== undefined) {
    if (!isMarked) return whyNoCallValue(json.value, toolNames);
    const parsed = parseJsonAt(unmarked, 0, { lenient: true });
    const why = parsed.ok ? whyNoCallValue(parsed.value, toolNames) : undefined;
    return why ?? (isMarkInKey(content, finder) || hasArguments(unmarked) ? 'has a mark of a call in it' : undefined);
  }
  const isUnfinished = json.end === text.length || json.cutOffBy !== undefined;
  const isCall =
    isMarked ||
    looksLikeCall(unmarked, json.lacksBrace, toolNames) ||
    (isUnfinished && startsCall(unmarked, toolNames));
  if (!isCall) return undefined;
  if (json.cutOffBy === 'the end of the text') return 'is cut off by the end of the text';
  return json.lacksBrace ? 'lacks its opening brace' : 'is malformed';
}

const restOfKey = /[^"'\n]{0,64}["']\s*:/y;

function isMarkInKey(content: string, finder: MarkFinder): boolean {
  for (let mark = finder.find(content, 0); mark; mark = finder.find(content, mark.end)) {
    if (endOfMatch(restOfKey, content, mark.end) !== undefined) return true;
  }
  return false;
}

const hasArguments = (content: string): boolean => /["'](?:arguments|parameters|args)["']\s*:\s*\{/.test(content);

// Deeper, a call is an example in data.
const maxCallDepth = 4;

function whyNoCallValue(value: JsonValue, toolNames: ReadonlySet<string>, depth = 0): string | undefined {
  if (depth > maxCallDepth) return undefined;
  const isObject = isJsonObject(value);
  const why = isObject ? whyNoCallObject(value, toolNames, depth) : undefined;
  if (why !== undefined) return why;
  const nested = isObject ? [...value] : Array.isArray(value) ? value.map((item) => ['', item] as const) : [];
  for (const [key, member] of nested) {
    const steps = !isObject ? 1 : wrapperKeys.includes(key) ? 0 : 2;
    const found = whyNoCallValue(member, toolNames, depth + steps);
    if (found !== undefined) return found;
  }
  return undefined;
}

function whyNoCallObject(members: JsonObject, toolNames: ReadonlySet<string>, depth: number): string | undefined {
  const keys = [...members.keys()];
  const nameKey =
    nameKeys.find((key) => typeof members.get(key) === 'string') ??
    keys.find((key) => /[<>{}[\]]/.test(key) && isToolName(members.get(key), toolNames));
  const argumentKey = argumentKeys.find((key) => members.has(key));
  const isDeclared = nameKey !== undefined && isToolName(members.get(nameKey), toolNames);
  const others = keys.filter((key) => key !== nameKey && key !== argumentKey && !metadataKeys.has(key));
  const isOuter = depth <= 1;
  if (argumentKey === undefined) {
    if (!isDeclared || !isOuter) return undefined;
    return others.length === 0 ? 'is not in the form of the calls' : `has no arguments, but a member "${others[0]}"`;
  }
  const args = members.get(argumentKey);
  const isObject = args !== undefined && isJsonObject(args);
  if (nameKey === undefined) {
    // Other data has no such member next to only one other.
    const isSure = argumentKey.startsWith('arg') && others.length <= 1;
    const isNameless =
      argumentKey !== 'input' && (isSure || others.every((key) => isLikeName(key, members, toolNames)));
    return isOuter && isObject && isNameless ? 'has no name' : undefined;
  }
  if (!isDeclared && (!isOuter || (argumentKey !== 'arguments' && !isObject && !holdsMore(args)))) return undefined;
  if (!isDeclared && toolNames.size > 0) {
    // Other data has an input, or parameters and more.
    const isCall =
      nameKey !== 'name' || argumentKey.startsWith('arg') || (argumentKey !== 'input' && others.length === 0);
    return isCall ? 'names no tool that is offered' : undefined;
  }
  if (members.has('description')) return 'repeats the declaration of a tool';
  if (others.length > 0) return `has a member "${others[0]}" in addition to name and arguments`;
  const isEmpty = args === null || args === '';
  return isObject || isEmpty ? 'is not in the form of the calls' : 'has arguments that are no object';
}

const isToolName = (value: JsonValue | undefined, toolNames: ReadonlySet<string>): boolean =>
  typeof value === 'string' && toolNames.has(/\w(?:[^]*\w)?/.exec(value)?.[0] ?? '');

/** Whether the key of a member is that of a name with a mistake in it, or its value is the name of a tool. */
const isLikeName = (key: string, members: JsonObject, toolNames: ReadonlySet<string>): boolean =>
  nameKeys.some((name) => isSimilar(name, key)) || /[<>{}[\]]/.test(key) || isToolName(members.get(key), toolNames);

/** Whether arguments are a list, or an object in a string. */
const holdsMore = (args: JsonValue | undefined): boolean =>
  Array.isArray(args) || (typeof args === 'string' && args.trimStart().startsWith('{'));

const memberPattern = /["'“”]?([A-Za-z_]{3,16})["'“”]?\s*[:=]\s*(?=["'“”]?([\w.-]{1,64})|([{["'“<])|$)/g;

/** Whether malformed JSON has the members of a call. */
function looksLikeCall(content: string, lacksBrace: boolean, toolNames: ReadonlySet<string>): boolean {
  let hasName = false;
  let isGivenArguments = false;
  for (const [, key = '', word, opening] of content.matchAll(memberPattern)) {
    const isArguments = argumentKeys.some((name) => (name === 'input' ? name === key : isSimilar(name, key)));
    if (!isArguments && word !== undefined && toolNames.has(word)) return true;
    if (nameKeys.includes(key)) hasName = true;
    // Data that is cut off hardly ever has such a member; a malformed call mostly has it.
    if (isArguments && opening === '{' && key !== 'input') return true;
    // Without a brace, it may be prose.
    if (isArguments && !(lacksBrace && word !== undefined)) isGivenArguments = true;
  }
  return isGivenArguments && (hasName || [...toolNames].some((name) => content.includes(`"${name}`)));
}

const opener = /^[[\s]*\{?\s*(?:["']?(?:type|id)["']?\s*:\s*["'][\w-]*["']\s*,\s*)?/;
const cutOffKey =
  /^["']?([a-z_]{0,16})(?:["']\s*(?::\s*(?:["']([\w.-]{0,64})(["']\s*(?:,\s*(?:["']([a-z_]{0,16})["']?\s*(?::\s*)?)?)?)?)?)?)?$/;

/** Whether a text that is cut off can only be the start of a call. */
function startsCall(content: string, toolNames: ReadonlySet<string>): boolean {
  const start = opener.exec(content)?.[0].length ?? 0;
  const match = cutOffKey.exec(content.slice(start, start + maxStart));
  if (!match || content.length > start + maxStart) return false;
  const [, key = '', name, isClosed, nextKey] = match;
  if (![...nameKeys, ...wrapperKeys, ...metadataKeys].some((known) => known.startsWith(key))) return false;
  if (name === undefined) return true;
  if (!nameKeys.includes(key)) return false;
  if (nextKey !== undefined && !argumentKeys.some((known) => known.startsWith(nextKey))) return false;
  if (toolNames.size === 0) return true;
  return isClosed === undefined ? [...toolNames].some((known) => known.startsWith(name)) : toolNames.has(name);
}

// More text than this has a member that tells.
const maxStart = 160;
