import { readFile } from 'node:fs/promises';
import { findNodeAtLocation, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { repeatedName } from '../graph/folder.ts';

/** The text of a graph file, and where in it things stand. */
export interface GraphFile {
  readonly path: string;
  readonly text: string;
  /** `file:line:column` of what a JSON pointer names, or of the nearest thing around it that is there. */
  at(pointer: string): string;
  /** Whether it is no graph, but the schema that lies beside graphs. */
  readonly isSchema: boolean;
  /** Where the text stops being JSON, and why; undefined when it is JSON. */
  readonly syntax: string | undefined;
}

/** Reads a graph file. @throws Error that names the file, when it cannot be read. */
export async function readGraphFile(path: string): Promise<GraphFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const why = { ENOENT: 'there is no such file', EISDIR: 'it is a folder' }[error.code ?? ''] ?? error.message;
    throw new Error(`${path} cannot be read: ${why}`, { cause: error });
  });
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true });
  const [error] = errors;
  return {
    path,
    text,
    isSchema: tree !== undefined && /json-schema\.org/.test(String(findNodeAtLocation(tree, ['$schema'])?.value)),
    at: (pointer) => `${path}:${position(text, tree ? offsetOf(tree, pointer) : 0)}`,
    syntax: syntaxOf(path, text, error),
  };
}

function syntaxOf(path: string, text: string, error: ParseError | undefined): string | undefined {
  if (error) return `${path}:${position(text, error.offset)}: is no JSON: ${wordsOf(printParseErrorCode(error.error))}`;
  const twice = repeatedName(text);
  return twice && `${path}:${position(text, twice.offset)}: the name "${twice.name}" stands twice in one object`;
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

function position(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

const wordsOf = (code: string): string =>
  code.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).toLowerCase();
