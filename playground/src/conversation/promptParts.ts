/** A part of a prompt. */
export interface PromptPart {
  readonly text: string;
  /** Whether it is a control token. */
  readonly special: boolean;
}

/** The parts of the prompt of an inference, from the payload of its event. */
export function promptParts(payload: Readonly<Record<string, unknown>>): readonly PromptPart[] {
  const { prompt } = payload;
  if (!Array.isArray(prompt)) return [];
  return prompt.map((part: { readonly text?: unknown; readonly special?: unknown }) => ({
    text: String(part.text ?? ''),
    special: part.special === true,
  }));
}

/** The exact prompt. */
export const promptText = (parts: readonly PromptPart[]): string => parts.map(({ text }) => text).join('');

const marks: Readonly<Record<string, string>> = { ' ': '·', '\t': '→\t', '\n': '↵\n', '\r': '␍', '\u00a0': '⍽' };

/** A text with marks for its white space. */
export const withVisibleSpace = (text: string): string =>
  text.replaceAll(/[ \t\n\r\u00a0]/g, (space) => marks[space] ?? space);

/**
 * Groups the parts into blocks that begin at a control token after a text: about one for each message. A browser
 * lays out only the blocks in view.
 */
export function promptBlocks(parts: readonly PromptPart[]): readonly (readonly PromptPart[])[] {
  const blocks: PromptPart[][] = [];
  let before: PromptPart | undefined;
  for (const part of parts.flatMap(splitLongText)) {
    const block = blocks.at(-1);
    const begins = part.special ? before?.special === false : isLong(before) || isLong(part);
    if (!block || (begins && endsLine(before))) blocks.push([part]);
    else block.push(part);
    before = part;
  }
  return blocks;
}

const maxBlockCharacters = 4_000;
const isLong = (part: PromptPart | undefined): boolean => (part?.text.length ?? 0) > maxBlockCharacters / 2;
const endsLine = (part: PromptPart | undefined): boolean => part?.text.endsWith('\n') ?? true;

/** Splits a text after line breaks into pieces of bounded length, as far as it has any. */
function splitLongText({ text, special }: PromptPart): readonly PromptPart[] {
  const pieces: PromptPart[] = [];
  let rest = text;
  while (rest.length > maxBlockCharacters) {
    const cut = rest.lastIndexOf('\n', maxBlockCharacters) + 1 || rest.indexOf('\n', maxBlockCharacters) + 1;
    if (cut === 0) break;
    pieces.push({ text: rest.slice(0, cut), special });
    rest = rest.slice(cut);
  }
  return rest === '' && pieces.length > 0 ? pieces : [...pieces, { text: rest, special }];
}
