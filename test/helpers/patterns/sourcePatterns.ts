import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import type { PatternUse } from './growth.ts';

/** A regular expression in a source file. */
export interface SourcePattern extends PatternUse {
  /** File and line. */
  readonly place: string;
}

/** The regular expressions of a source file, and the places where some are made of texts. */
export interface SourcePatterns {
  readonly literals: readonly SourcePattern[];
  readonly made: readonly string[];
}

/** The TypeScript and JavaScript files of a folder, generated ones left out. */
export const sourceFiles = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !/\.gen\.ts$|(?:^|\/)(?:node_modules|dist)\//.test(file))
    .map((file) => join(folder, file))
    .sort();

interface Node {
  readonly type: string;
  readonly start: number;
  readonly regex?: { readonly pattern: string; readonly flags: string };
  readonly key?: { readonly name?: string };
  readonly value?: { readonly value?: unknown };
  readonly arguments?: readonly Node[];
  readonly callee?: { readonly name?: string; readonly property?: { readonly name?: string } };
}

// A file without any of these has no pattern: a slash that may begin one, or what makes one.
const mayHavePattern =
  /(?:[(,=:[!&|?{};+~^%<>-]|\b(?:return|typeof|case|in|of|do|else|yield|await|void|delete|throw)|^)\s*\/(?![/*])|\bRegExp\b|\bpattern\b|\.(?:match|matchAll|search)\(/;

/** The regular expressions of a file. */
export function patternsIn(file: string): SourcePatterns {
  const text = readFileSync(file, 'utf8');
  if (!mayHavePattern.test(text)) return { literals: [], made: [] };
  const literals: SourcePattern[] = [];
  const made: string[] = [];
  const placeOf = ({ start }: Node): string => `${file}:${text.slice(0, start).split('\n').length}`;
  const visit = (value: unknown, isSplit: boolean): void => {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    if (node.regex) {
      const { pattern: source, flags } = node.regex;
      literals.push({ place: placeOf(node), source, flags, isRepeated: isSplit || /[gy]/.test(flags) });
    }
    // Of a schema, which ajv makes an expression of.
    if (node.type === 'Property' && node.key?.name === 'pattern' && typeof node.value?.value === 'string')
      literals.push({ place: placeOf(node), source: node.value.value, flags: 'u', isRepeated: false });
    const method = node.type === 'CallExpression' ? (node.callee?.property?.name ?? '') : '';
    const isText = ['Literal', 'TemplateLiteral', 'BinaryExpression'].includes(node.arguments?.[0]?.type ?? '');
    // These make an expression of a text.
    const isMadeByMethod = ['match', 'matchAll', 'search'].includes(method) && isText && !node.arguments?.[0]?.regex;
    if (node.callee?.name === 'RegExp' || isMadeByMethod) made.push(placeOf(node));
    const isNowSplit = node.type === 'CallExpression' ? node.callee?.property?.name === 'split' : isSplit;
    for (const child of Object.values(value)) visit(child, isNowSplit);
  };
  visit(parseSync(file, text).program, false);
  return { literals, made };
}
