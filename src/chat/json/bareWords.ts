import { endOfString } from '../../base/jsonBounds.ts';
import { endOfMatch, lenientLiterals, skipWhiteSpace } from './lenientParser.ts';

const word = /[\p{L}_][\p{L}\p{N}_.-]{0,64}(?=\s{0,64}[,:}\]])/uy;

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
    const start = skipWhiteSpace(text, at + 1);
    const end = endOfMatch(word, text, start);
    if (end === undefined || lenientLiterals.has(text.slice(start, end))) continue;
    quoted += `${text.slice(copied, start)}"${text.slice(start, end)}"`;
    copied = end;
    at = end - 1;
  }
  return quoted + text.slice(copied);
}
