/** A part of a text that is tokenized on its own. */
export interface TextPiece {
  readonly text: string;
  /** Whether it continues the piece before it in the middle of a word, so that it has no leading space of its own. */
  readonly continuesWord: boolean;
}

/** What a vocabulary says about where a text may be cut. */
export interface SplitRules {
  /** Spellings of the tokens that are looked up in a text before it is tokenized: control and user-defined tokens. */
  readonly lookedUp: Iterable<string>;
  /** Spellings of all other tokens as the file has them: with a marker in place of a space. */
  readonly words: Iterable<string>;
  /** Whether the tokenizer puts a space before each text. */
  readonly addsLeadingSpace: boolean;
}

// In UTF-16 units. llama.cpp's time is quadratic in some texts (many looked-up tokens; bytes that are tokens of their
// own): a piece of this length takes at most a few milliseconds.
const maxPieceLength = 4096;

/**
 * Makes the function that splits long texts into pieces that have the same tokens as the whole text, so that the event loop
 * can run between them. It gives the pieces from left to right; a short text, also an empty one, is one piece.
 *
 * | a cut is made                                       | the tokens are the same, because                         |
 * | --------------------------------------------------- | -------------------------------------------------------- |
 * | after a looked-up token                             | the tokenizer itself splits there                        |
 * | before a single space between two other characters  | words start with their space; no token of the vocabulary |
 * |                                                     | contains the character before it and the space           |
 * | else near `maxPieceLength`                          | they may differ at this one place                        |
 *
 * No cut is inside a looked-up token, unless others overlap it for half a piece. A text that grows at its end keeps its
 * first pieces.
 */
export function textSplitter({
  lookedUp,
  words,
  addsLeadingSpace,
}: SplitRules): (text: string) => Generator<TextPiece> {
  const spellings: SpellingNode = new Map();
  for (const spelling of lookedUp) {
    addSpelling(spellings, spelling);
    addSpelling(spellings, spelling.replaceAll('▁', ' '));
  }
  // Characters that are followed by a space within a token; those beyond ASCII are in it as one, "".
  const beforeSpace = new Set<string>();
  for (const word of words)
    for (const [, character = ''] of word.matchAll(characterBeforeSpace))
      beforeSpace.add(isAscii(character) ? character : '');

  const isBetweenWords = (text: string, space: number): boolean => {
    const before = text.charAt(space - 1);
    const after = text.charAt(space + 1);
    const isKnown = beforeSpace.has(isAscii(before) ? before : '');
    return !isKnown && after !== '' && !isSpace(before) && !isSpace(after);
  };

  /** Where the piece from `pieceStart` on ends, and where the next one starts. */
  const findCut = (text: string, pieceStart: number): { end: number; start: number; continuesWord: boolean } => {
    const last = pieceStart + maxPieceLength;
    const first = pieceStart + maxPieceLength / 2;
    const { inner, ends, starts } = findLookedUp(spellings, text, pieceStart, last + 1);
    for (let end = last; end >= first; end--) {
      if (inner.has(end)) continue;
      const next = text.charAt(end);
      if (ends.has(end) && !isSpace(next)) return { end, start: end, continuesWord: false };
      const startsWord = next === ' ' && !ends.has(end) && !starts.has(end + 1) && isBetweenWords(text, end);
      // A tokenizer that adds a space to each text adds it to the next piece.
      if (startsWord) return { end, start: addsLeadingSpace ? end + 1 : end, continuesWord: false };
    }
    let end = last;
    while (end >= first && inner.has(end)) end--;
    // In a long run of spaces each place is inside of a looked-up token: the tokenizer takes the longest ones from its start.
    if (end < first) for (let at = pieceStart; at <= last; at = starts.get(at) ?? at + 1) end = at;
    if (end === pieceStart) end = last;
    if (isLowSurrogate(text.charCodeAt(end))) end--;
    return { end, start: end, continuesWord: true };
  };

  return function* pieces(text) {
    let start = 0;
    let continuesWord = false;
    while (text.length - start > maxPieceLength) {
      const cut = findCut(text, start);
      yield { text: text.slice(start, cut.end), continuesWord };
      ({ start, continuesWord } = cut);
    }
    yield { text: text.slice(start), continuesWord };
  };
}

/** The offsets inside looked-up tokens, at their ends, and at their starts with the longest one's end, in a part of a text. */
function findLookedUp(spellings: SpellingNode, text: string, from: number, to: number) {
  const found = { inner: new Set<number>(), ends: new Set<number>(), starts: new Map<number, number>() };
  let innerEnd = from;
  for (let start = from; start <= to; start++) {
    let node: SpellingNode | undefined = spellings;
    for (let end = start; node; end++) {
      if (node.has(spellingEnd)) {
        found.starts.set(start, end);
        found.ends.add(end);
      }
      node = node.get(text.charAt(end));
    }
    const longest = found.starts.get(start) ?? start;
    for (let offset = Math.max(start + 1, innerEnd); offset < longest; offset++) found.inner.add(offset);
    innerEnd = Math.max(innerEnd, longest);
  }
  return found;
}

/** A trie of spellings by UTF-16 unit. */
type SpellingNode = Map<string, SpellingNode>;
const spellingEnd = 'end';

function addSpelling(root: SpellingNode, spelling: string): void {
  if (spelling === '') return;
  let node = root;
  for (const unit of spelling.split('')) {
    const next: SpellingNode = node.get(unit) ?? new Map<string, SpellingNode>();
    node.set(unit, next);
    node = next;
  }
  node.set(spellingEnd, new Map());
}

// SentencePiece writes a space as ▁, byte-level BPE as Ġ, others as itself.
const characterBeforeSpace = /([^ ▁Ġ])(?=[ ▁Ġ])/gu;
const isAscii = (character: string): boolean => character <= '\u007f';
const isSpace = (character: string): boolean => /\s/.test(character);
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
