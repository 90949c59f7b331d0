import { findNodeAtLocation, parseTree, printParseErrorCode, visit, type Node, type ParseError } from 'jsonc-parser';
import { findJsonExcess, jsonExcesses } from './jsonBounds.ts';
import { escapePointerToken, pointerTokens } from './jsonPointer.ts';

/** A JSON syntax error and its position: `line:column`. */
export interface JsonSyntaxError {
  readonly place: string;
  readonly why: string;
}

/** A key that occurs twice in one object of a JSON text, where JSON.parse silently takes the last one. */
export interface DuplicateKey {
  readonly name: string;
  readonly pointer: string;
  /** `line:column` of the second occurrence. */
  readonly place: string;
}

/** A text without the byte order mark that some Windows editors write. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

const strictOptions = { disallowComments: true };

/** The `line:column` (from 1) of the value that a JSON pointer names, or of its nearest existing parent. */
export function locateInJson(text: string): { readonly positionOf: (pointer: string) => string } {
  const position = positions(text);
  // For the first error: most texts have none.
  let root: { readonly tree: Node | undefined } | undefined;
  return {
    positionOf: (pointer) => {
      root ??= { tree: unlessTooDeep(() => parseTree(text, [], strictOptions)) };
      return position(root.tree ? offsetOf(root.tree, pointer) : 0);
    },
  };
}

/**
 * Reads a JSON text that has no byte order mark.
 * @returns its value, or its first error, also of valid JSON with a string or a number that no value holds.
 */
export function readJson(text: string) {
  try {
    const value: unknown = JSON.parse(text);
    return { value, error: findLoneSurrogate(text) ?? findInfinity(text) };
  } catch (cause) {
    const { offset, why } = firstError(text) ?? { offset: offsetIn(cause, text), why: 'unexpected character' };
    return { value: undefined, error: { place: positions(text)(offset), why }, cause };
  }
}

// A pair of escapes, another escape, or a character that is half of a pair.
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\[^u]|\p{Surrogate}/gu;

// Half of a surrogate pair: no text can have it, and UTF-8 cannot encode it.
function findLoneSurrogate(text: string): JsonSyntaxError | undefined {
  if (!/\\u[dD][89a-fA-F]|\p{Surrogate}/u.test(text)) return undefined;
  for (const { 0: escape, index } of text.matchAll(escapes)) {
    if (!/^(?:\\u[dD][89a-fA-F]..|\p{Surrogate})$/u.test(escape)) continue;
    const shown = JSON.stringify(escape).slice(1, -1).replace('\\\\', '\\');
    return { place: positions(text)(index), why: `half of a surrogate pair, ${shown}; write both halves` };
  }
  return undefined;
}

// A number that JSON.parse reads as Infinity, which JSON.stringify writes as null.
function findInfinity(text: string): JsonSyntaxError | undefined {
  if (!/\d[eE]\+?\d|\d{50}/.test(text)) return undefined;
  let first: number | undefined;
  const onLiteralValue = (value: unknown, offset: number): void => {
    if (value === Infinity || value === -Infinity) first ??= offset;
  };
  unlessTooDeep(() => visit(text, { onLiteralValue }));
  return first === undefined ? undefined : { place: positions(text)(first), why: 'a number beyond 1.8e308' };
}

/** Parses a JSON text; a byte order mark may precede it. @param fault makes the error, from the end of a sentence. */
export function parseJson(given: string, fault: (problem: string, cause: unknown) => Error): unknown {
  const text = withoutMark(given);
  if (findJsonExcess(text)) throw fault(jsonExcesses.levels, undefined);
  const { value, error, cause } = readJson(text);
  if (error) throw fault(`is not valid JSON at ${error.place}: ${error.why}`, cause);
  return value;
}

/** As `parseJson`; it also refuses a name that is twice in one object. */
export function parseUniqueJson(given: string, fault: (problem: string, cause?: unknown) => Error): unknown {
  const value = parseJson(given, fault);
  const [twice] = findDuplicateKeys(withoutMark(given));
  if (twice === undefined) return value;
  throw fault(`has the name "${twice.name}" twice in one object at ${twice.place}`);
}

// Each has its whole path, which may be as long as the text.
const maxDuplicates = 20;

/** The first duplicate keys of a JSON text; none when it is nested too deeply to be visited. */
export function findDuplicateKeys(text: string): readonly DuplicateKey[] {
  const position = positions(text);
  // The keys of each object that is open at this point, outermost first.
  const open: Set<string>[] = [];
  const duplicates: DuplicateKey[] = [];
  unlessTooDeep(() =>
    visit(text, {
      onObjectBegin: () => void open.push(new Set()),
      onObjectEnd: () => void open.pop(),
      onObjectProperty: (name, offset, _length, _line, _character, pathOf) => {
        const names = open.at(-1);
        if (names?.has(name) && duplicates.length < maxDuplicates) {
          const pointer = [...pathOf(), name].map(escapePointerToken).join('');
          duplicates.push({ name, pointer, place: position(offset) });
        }
        names?.add(name);
      },
    }),
  );
  return duplicates;
}

function firstError(text: string): { readonly offset: number; readonly why: string } | undefined {
  const errors: ParseError[] = [];
  unlessTooDeep(() => parseTree(text, errors, strictOptions));
  const [error] = errors;
  if (!error) return undefined;
  const { offset } = error;
  const before = text.slice(0, offset).trimEnd();
  if (before.endsWith(',') && /^[}\]]/.test(text.slice(offset, offset + 1)))
    return { offset: before.length - 1, why: 'a trailing comma is not allowed' };
  const code = printParseErrorCode(error.error);
  return { offset, why: code === 'InvalidCommentToken' ? 'JSON has no comments' : describeErrorCode(code) };
}

// For an error that only JSON.parse finds: its message has the offset.
const offsetIn = (error: unknown, text: string): number =>
  Number(/position (\d+)/.exec(String(error))?.[1] ?? text.length);

// Follows the pointer as far as it exists; the position of an object member is that of its key.
function offsetOf(tree: Node, pointer: string): number {
  let node = tree;
  for (const name of pointerTokens(pointer)) {
    const inner = findNodeAtLocation(node, [node.type === 'array' ? Number(name) : name]);
    if (!inner) break;
    node = inner;
  }
  return node.parent?.type === 'property' ? node.parent.offset : node.offset;
}

function positions(text: string): (offset: number) => string {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let line = 0;
    for (let step = 2 ** Math.floor(Math.log2(starts.length)); step >= 1; step /= 2) {
      if ((starts[line + step] ?? Infinity) <= offset) line += step;
    }
    return `${line + 1}:${offset - (starts[line] ?? 0) + 1}`;
  };
}

// jsonc-parser recurses once per level and overflows the stack on very deep nesting; the schema refuses such a value anyway.
function unlessTooDeep<T>(visitAll: () => T): T | undefined {
  try {
    return visitAll();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

const describeErrorCode = (code: string): string =>
  code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
