import { anyOfTexts } from '../../../base/patterns.ts';
import { skipSeparators } from '../../json/lenientParser.ts';
import { matchesOutsideCode } from '../detect/markdownCode.ts';
import type { TextRange } from '../marks.ts';

/** Whether the first word of a text has the name of a tool in it, or is the beginning of one that the text ends in. */
export function startsWithName(text: string, toolNames: ReadonlySet<string>): boolean {
  const word = /^\W*([^\s{}()[\]]{1,128})/.exec(text)?.[1] ?? '';
  const names = [...toolNames];
  if (names.some((name) => word.includes(name))) return true;
  const isLast = text.trim().endsWith(word) && !/\s/.test(text.trim());
  return isLast && word !== '' && names.some((name) => endsWithin(word, name));
}

/** Whether a word ends with the beginning of a name. */
function endsWithin(word: string, name: string): boolean {
  const lastPart = /(?<![\w.-])[\w.-]*$/.exec(word)?.[0] ?? '';
  return lastPart !== '' && name.startsWith(lastPart);
}

const namePattern = (toolNames: ReadonlySet<string>): string =>
  `(?<![\\w-])(?:[A-Za-z_]{1,16}[.:])?(?:${anyOfTexts(toolNames)})`;
const callStart = '\\s{0,8}(?:\\[ARGS\\]\\s{0,8}|(?=[({]))';

/** The name of a tool before a bracket, where a call without a mark may start; undefined: there are no tools. */
export const namedCallPattern = (toolNames: ReadonlySet<string>): RegExp | undefined =>
  toolNames.size === 0 ? undefined : new RegExp(namePattern(toolNames) + callStart);

/** Finds the names of tools where they stand for a call. */
export class ToolNameFinder {
  readonly #call: RegExp | undefined;
  readonly #names: ReadonlySet<string>;

  constructor(toolNames: ReadonlySet<string>) {
    this.#names = toolNames;
    if (toolNames.size > 0) this.#call = new RegExp(`\`+|${namePattern(toolNames)}${callStart}`, 'g');
  }

  /** Start of the name that ends at an index, but for punctuation; the index itself: there is none. */
  startBefore(text: string, index: number): number {
    let end = index;
    while (end > 0 && index - end < 8 && /[\s"'(:=,]/.test(text[end - 1] ?? '')) end--;
    let start = end;
    while (start > 0 && end - start < maxNameLength && /[\w.:-]/.test(text[start - 1] ?? '')) start--;
    const word = text.slice(start, end);
    // A prefix such as `functions.` may stand before the name.
    const isName =
      this.#names.has(word) || this.#names.has(word.slice(1 + Math.max(word.indexOf('.'), word.indexOf(':'))));
    return isName ? start : index;
  }

  /**
   * Calls that begin with the name of a tool and have no mark: `name{...}` and `name[ARGS]{...}` anywhere, `name(...)`
   * only where it is a line or a list, or where the text ends, as markup follows.
   */
  calls(text: string, isBeforeMarkup: boolean): readonly TextRange[] {
    const pattern = this.#call;
    if (!pattern) return [];
    const calls: TextRange[] = [];
    let ends: ReadonlyMap<number, number> | undefined;
    let afterSeparators = -1;
    for (const match of matchesOutsideCode(pattern, text, 0)) {
      const opener = pattern.lastIndex;
      const start = match.index === afterSeparators ? match.index : listStartBefore(text, match.index);
      ends ??= bracketEnds(text);
      const end = ends.get(opener) ?? opener;
      const isBeforeEnd = isBeforeMarkup && end === text.length;
      if (text[opener] === '(' && !(isBeforeEnd || (start !== undefined && isLineEnd(text, end)))) continue;
      calls.push({ start: start ?? match.index, end });
      afterSeparators = skipSeparators(text, end);
      pattern.lastIndex = Math.max(end, opener);
    }
    return calls;
  }
}

const maxNameLength = 128;

/** Start of the line or of the list before an index, where nothing but separators stands between; else undefined. */
function listStartBefore(text: string, index: number): number | undefined {
  const before = text.slice(Math.max(0, index - 16), index);
  const match = /(?:^|\n|\[)[ \t[,;]{0,16}$/.exec(before);
  return match && (match[0] !== '' ? !/^[ \t,;]*$/.test(match[0]) || index <= 16 : index === 0)
    ? index - match[0].length
    : undefined;
}

const isLineEnd = (text: string, index: number): boolean =>
  /^[ \t\],;]*(?:\n|$|[\w.:]{1,64}\()/.test(text.slice(index, index + 96));

const brackets = /[{}()[\]\n]/g;

/** Index after the bracket that closes each opening one, on its line; without one, the end of the line. */
function bracketEnds(text: string): ReadonlyMap<number, number> {
  const ends = new Map<number, number>();
  let open: number[] = [];
  for (const { index, 0: character } of text.matchAll(brackets)) {
    if (character === '\n') {
      for (const start of open) ends.set(start, index);
      open = [];
    } else if ('{(['.includes(character)) open.push(index);
    else ends.set(open.pop() ?? -1, index + 1);
  }
  for (const start of open) ends.set(start, text.length);
  return ends;
}
