import { endOfMatch } from './lenientParser.ts';

const word = /[\p{L}_][\p{L}\p{N}_.-]{0,64}(?=\s{0,64}[,:}\]])/uy;
const literals: ReadonlySet<string> = new Set(['true', 'false', 'null', 'True', 'False', 'None']);

/** A text of JSON with quotes around each word that stands in place of a key or a text: `{name: "f", "x": red}`. Linear. */
export function quoteBareWords(text: string): string {
  let [quoted, copied] = ['', 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] ?? '';
    if (character === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (!'{[,:'.includes(character)) continue;
    const start = at + 1 + spacesAfter(text, at + 1);
    const end = endOfMatch(word, text, start);
    if (end === undefined || literals.has(text.slice(start, end))) continue;
    quoted += `${text.slice(copied, start)}"${text.slice(start, end)}"`;
    copied = end;
    at = end - 1;
  }
  return quoted + text.slice(copied);
}

function spacesAfter(text: string, index: number): number {
  let end = index;
  while (text[end] === ' ' || text[end] === '\n' || text[end] === '\t' || text[end] === '\r') end++;
  return end - index;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
