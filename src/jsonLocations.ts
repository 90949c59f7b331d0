import { findNodeAtLocation, parseTree, printParseErrorCode, visit, type Node, type ParseError } from 'jsonc-parser';
import { escapePointerToken } from './jsonPointer.ts';

/** Tells where in a JSON text things stand: `line:column`, both from 1 on. */
export interface JsonLocations {
  /** The place of what a JSON pointer names, or of the nearest thing around it that is there. */
  positionOf(pointer: string): string;
}

/** Why a text is no JSON, and from where on: `line:column`. */
export interface JsonSyntaxError {
  readonly place: string;
  readonly why: string;
}

/** A name that one object of a JSON text has a second time, where JSON.parse takes the last one in silence. */
export interface DuplicateKey {
  readonly name: string;
  readonly pointer: string;
  /** `line:column` of the second one. */
  readonly place: string;
  readonly line: number;
}

const strictOptions = { disallowComments: true };

/** The places in a text; of one that is no JSON those before the fault. */
export function locateInJson(text: string): JsonLocations {
  const position = positions(text);
  const tree = unlessTooDeep(() => parseTree(text, [], strictOptions));
  return { positionOf: (pointer) => position(tree ? offsetOf(tree, pointer) : 0) };
}

/** What is wrong with a text that JSON.parse refuses; undefined when it is JSON. */
export function findSyntaxError(text: string): JsonSyntaxError | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    const { offset, why } = firstError(text) ?? { offset: offsetIn(error, text), why: 'unexpected character' };
    return { place: positions(text)(offset), why };
  }
}

/** All names that stand twice in an object; of a text that is nested too deeply to be walked, none. */
export function findDuplicateKeys(text: string): readonly DuplicateKey[] {
  const position = positions(text);
  const open: Set<string>[] = [];
  const found: DuplicateKey[] = [];
  unlessTooDeep(() =>
    visit(text, {
      onObjectBegin: () => void open.push(new Set()),
      onObjectEnd: () => void open.pop(),
      onObjectProperty: (name, offset, _length, line, _character, pathOf) => {
        const names = open.at(-1);
        if (names?.has(name)) {
          const pointer = [...pathOf(), name].map(escapePointerToken).join('');
          found.push({ name, pointer, place: position(offset), line: line + 1 });
        }
        names?.add(name);
      },
    }),
  );
  return found;
}

function firstError(text: string): { readonly offset: number; readonly why: string } | undefined {
  const errors: ParseError[] = [];
  unlessTooDeep(() => parseTree(text, errors, strictOptions));
  const [error] = errors;
  if (!error) return undefined;
  const { offset } = error;
  const before = text.slice(0, offset).trimEnd();
  if (before.endsWith(',') && /^[}\]]/.test(text.slice(offset, offset + 1)))
    return { offset: before.length - 1, why: 'there is a comma too many' };
  const code = printParseErrorCode(error.error);
  return { offset, why: code === 'InvalidCommentToken' ? 'JSON has no comments' : describeErrorCode(code) };
}

// What only JSON.parse takes offence at, it places in its sentence.
function offsetIn(error: unknown, text: string): number {
  const [, offset] = /position (\d+)/.exec(String(error)) ?? [];
  return offset === undefined ? text.length : Number(offset);
}

// Goes down the tree as far as the pointer leads; for a member its name is the place, not its value.
function offsetOf(tree: Node, pointer: string): number {
  let node = tree;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
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

// The walks call themselves for each level; so deep nobody writes, and the shape of the value refuses it.
function unlessTooDeep<T>(walk: () => T): T | undefined {
  try {
    return walk();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

const describeErrorCode = (code: string): string =>
  code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
