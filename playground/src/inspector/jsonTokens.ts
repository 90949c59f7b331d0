import { createScanner } from 'jsonc-parser';

/** A part of a JSON text that has a colour of its own. */
export interface JsonToken {
  readonly from: number;
  readonly to: number;
  readonly kind: 'key' | 'string' | 'number' | 'word' | 'invalid';
}

/** The tokens of a part of a JSON text that begins at the start of a line; the text may have faults. */
export function jsonTokens(text: string, offset: number): readonly JsonToken[] {
  const scanner = createScanner(text, true);
  const tokens: JsonToken[] = [];
  for (let token: number = scanner.scan(); token !== endOfText; token = scanner.scan()) {
    const last = tokens.at(-1);
    const from = offset + scanner.getTokenOffset();
    // A string before a colon is the name of a member.
    if (token === colon && last?.kind === 'string') tokens[tokens.length - 1] = { ...last, kind: 'key' };
    const kind = kinds.get(token);
    if (kind) tokens.push({ from, to: from + scanner.getTokenLength(), kind });
  }
  return tokens;
}

// The numbers of jsonc-parser's SyntaxKind, which is a const enum: it cannot be imported as a value here.
const colon = 6;
const endOfText = 17;
const kinds: ReadonlyMap<number, JsonToken['kind']> = new Map([
  [7, 'word'],
  [8, 'word'],
  [9, 'word'],
  [10, 'string'],
  [11, 'number'],
  [16, 'invalid'],
]);
