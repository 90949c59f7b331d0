import type { SkipReasoning } from '../reasoning/splitReply.ts';
import type { CallKeys, CallSpan } from './callShape.ts';
import type { CallMarkup, Tool } from '../../tool.ts';
import { endOfMatch } from '../../json/lenientParser.ts';
import { anyOfTexts, escapePattern } from '../../../base/patterns.ts';
import type { SearchedText, TextRange } from '../../markSearch.ts';
import { skipInlineCode } from '../../markdownCode.ts';

export interface TagKind {
  readonly opens: string;
  /** Text that belongs to the tag where it stands before it; white space between them does not count. */
  readonly leading?: string;
  readonly closes: string | undefined;
  /** What follows the tag; after `arguments` tags the tag itself has the name. */
  readonly holds: 'calls' | 'calls or a name' | 'arguments';
  /** Reads what follows the tag in the layout of a model's own format; undefined: it is not written in this layout. */
  readonly read?: ReadBlock;
}

/** A tag in a text; `end` is exclusive. */
export interface Tag extends TextRange {
  readonly kind: TagKind;
}

export interface TaggedBlock {
  readonly spans: readonly CallSpan[];
  /** Index from which the next tag is searched. */
  readonly end: number;
  readonly truncated: boolean;
}

/** Reads the calls after a tag. @param outer where their span starts: the first tag before them, often `tag` itself. */
export type ReadBlock = (tag: Tag, outer: Tag, context: DetectionContext) => TaggedBlock | undefined;

const commonKinds: readonly TagKind[] = [
  { opens: '<tool_call>', closes: '</tool_call>', holds: 'calls' },
  { opens: '<|tool_call|>', closes: '<|/tool_call|>', holds: 'calls' },
  { opens: '<function_call>', closes: '</function_call>', holds: 'calls' },
  { opens: '<|python_tag|>', closes: undefined, holds: 'calls' },
  { opens: '[TOOL_CALLS]', closes: '[/TOOL_CALLS]', holds: 'calls or a name' },
  { opens: '<function=', closes: '</function>', holds: 'arguments' },
];
const endTokens =
  '<|im_end|> <|eot_id|> <|eom_id|> <|end_of_text|> <|endoftext|> <|end|> <end_of_turn> <eos> </s>'.split(' ');

export type TagSet = ReturnType<typeof tagSet>;

/**
 * The tags that detection looks for: those of all formats, and those of a model's own layout.
 * @param own the tags of a model's own layout; it comes first.
 * @param ownClosers what may follow its calls.
 */
export function tagSet(own: readonly TagKind[] = [], ownClosers: readonly string[] = []) {
  const others = commonKinds.filter(({ opens }) => !own.some((kind) => kind.opens === opens));
  // Of two that start alike, the longer one.
  const kinds = [...own, ...others].sort((a, b) => b.opens.length - a.opens.length);
  const opening = kinds.map(openingPattern).join('|');
  const closing = anyOfTexts([...commonKinds.flatMap(({ closes }) => closes ?? []), ...ownClosers]);
  const openingOrCode = new RegExp(`\`+|${opening}`, 'g');
  const openingAtIndex = new RegExp(opening, 'y');
  const afterCall = new RegExp(`(?:\\s*(?:[\\]}]|(?:[,;]\\s*)?(?:${closing})|${anyOfTexts(endTokens)}))*`, 'y');
  const toTag = (text: string, start: number, end: number): Tag | undefined => {
    const kind = kinds.find(({ opens }) => text.startsWith(opens, start));
    return kind && { kind, start, end };
  };
  return {
    /** A closing tag, whichever it closes; sticky. */
    closingTag: new RegExp(closing, 'y'),
    /** Whether a model's own layout has tags. */
    hasOwn: own.length > 0,
    /** The first tag at or after an index that is neither in reasoning nor in Markdown code. */
    next(text: string, index: number, skipReasoning: SkipReasoning): Tag | undefined {
      openingOrCode.lastIndex = index;
      for (let match = openingOrCode.exec(text); match; match = openingOrCode.exec(text)) {
        const start = skipReasoning(match.index);
        if (start > match.index) openingOrCode.lastIndex = start;
        else if (text[start] === '`') openingOrCode.lastIndex = skipInlineCode(text, start);
        else return toTag(text, start, openingOrCode.lastIndex);
      }
      return undefined;
    },
    /** The tag that starts exactly at an index. */
    at(text: string, index: number): Tag | undefined {
      const end = endOfMatch(openingAtIndex, text, index);
      return end === undefined ? undefined : toTag(text, index, end);
    },
    /** The index after the closing tags, stray brackets and end tokens that follow a call. */
    skipClosers: (text: string, index: number): number => endOfMatch(afterCall, text, index) ?? index,
  };
}

/** The tag that all models know by the same text. */
export const commonKind = (opens: string): TagKind | undefined => commonKinds.find((kind) => kind.opens === opens);

// The tag has the name of the tool; a reader takes it by itself, and also where the tag is cut off.
function openingPattern({ opens, holds, read }: TagKind): string {
  const pattern = escapePattern(opens);
  if (holds !== 'arguments') return pattern;
  return read ? `${pattern}(?:[^\\s<>]+>)?` : `${pattern}[^\\s<>]+>`;
}

/** A tag with the text before it that belongs to it. */
export function withLeadingText(tag: Tag, text: string): Tag {
  const { leading = '' } = tag.kind;
  if (leading === '') return tag;
  const before = text.slice(Math.max(0, tag.start - leading.length - maxSpace), tag.start).trimEnd();
  const [lastWord = ''] = /\w{0,32}$/.exec(leading) ?? [];
  // Its last word belongs to the tag also where the marks before that are lost.
  const found = before.endsWith(leading) ? leading : /\w{0,32}$/.exec(before)?.[0] === lastWord ? lastWord : '';
  return found === '' ? tag : { ...tag, start: text.lastIndexOf(found, tag.start - found.length) };
}

// White space between a tag and the text before it, in UTF-16 units.
const maxSpace = 8;

/** The name of the tool in a tag such as `<function=name>`; "" where the tag has none. */
export const toolNameIn = (text: string, { kind, start, end }: Tag): string =>
  text.slice(start + kind.opens.length, Math.max(start + kind.opens.length, end - 1));

/** A text without the end tokens and the white space at its end. */
export function withoutEndTokens(text: string): string {
  let rest = text.trimEnd();
  const last = (): string | undefined => endTokens.find((token) => rest.endsWith(token));
  for (let token = last(); token !== undefined; token = last()) rest = rest.slice(0, -token.length).trimEnd();
  return rest;
}

/** The tags of all formats. */
export const commonTags = tagSet();

/** The marks of all formats around calls. */
export const commonMarkup: CallMarkup = {
  opens: commonKinds.map(({ opens }) => opens),
  closes: commonKinds.flatMap(({ closes }) => closes ?? []),
  inner: ['[ARGS]', '[CALL_ID]'],
};

export interface DetectionContext {
  /** The whole text, in which a mark that is nowhere is looked for once. */
  readonly source: SearchedText;
  readonly tools: readonly Tool[];
  /** The JSON keys of a call's name and arguments. */
  readonly keys: CallKeys;
  readonly tags: TagSet;
  /** Whether a call may begin with a thought. */
  readonly thought: boolean;
  readonly skipReasoning: SkipReasoning;
}
