import { memoized } from '../../../base/memoized.ts';
import { commonKind, commonMarkup, TagSet, type TagKind } from '../../reply/detect/tags.ts';
import { joinMarkup, type CallMarkup } from '../../tool.ts';
import { callMarks, type CallLayout, type LayoutPart } from '../layout.ts';
import { isMark, lexemes } from '../marks.ts';
import { CallReader } from './callReader.ts';
import { TolerantPattern } from './pattern.ts';

/** A mark before the name of a call, by which calls are found, and the rest of the layout up to the name. */
interface Anchor {
  readonly text: string;
  /** What the layout has before it. */
  readonly leading: string;
  readonly rest: readonly LayoutPart[];
}

/** The tags of a layout, with their readers. */
export const nativeTags = memoized((layout: CallLayout): TagSet => {
  const anchors = anchorsOf(layout);
  const closers = closersOf(layout);
  const isObject = layout.arguments.kind === 'json' && layout.arguments.keys !== undefined;
  const closing = new TagSet([], closers).closingTag;
  const reader = new CallReader(layout, closing, anchorsIn(layout.before).length > 0);
  const kinds = anchors.map(({ text: opens, leading, rest }): TagKind => {
    const { closes, holds } = commonKind(opens) ?? { closes: closers[0], holds: 'calls' };
    if (isObject) return { opens, leading, closes, holds };
    const opening = new TolerantPattern(rest);
    return {
      opens,
      leading,
      closes,
      holds,
      read: (text, { start }, outer, context) =>
        reader.readBlock(text, { outer, opening, start, end: start + opens.length }, context),
    };
  });
  return new TagSet(kinds, closers);
});

/** The marks around calls: those of a layout and those of all formats. A mark that ends every message is none of them. */
export function nativeMarkup(layout: CallLayout): CallMarkup {
  const isMarkup = (mark: string): boolean => !layout.end.includes(mark);
  const { arguments: notation } = layout;
  const keys = notation.kind === 'parameters' ? anchorsIn([notation.key]).map(({ text }) => text) : [];
  const closes = closersOf(layout).filter(isMarkup);
  const inner = [...keys, ...callMarks(layout)].filter(isMarkup);
  return joinMarkup([commonMarkup, { opens: anchorsOf(layout).map(({ text }) => text), closes, inner }]);
}

/** The first text of a layout by which its calls are found; "" = calls are bare JSON. */
export const triggerOf = (layout: CallLayout): string => anchorsOf(layout)[0]?.text ?? '';

/** The marks up to the name, in their order; without any, the whole text up to the name unless the calls are JSON. */
function anchorsOf(layout: CallLayout): readonly Anchor[] {
  const parts = [layout.open, ...layout.before];
  // A mark that ends every message starts no call.
  const anchors = anchorsIn(parts)
    .map((anchor) => ({ ...anchor, leading: `${layout.header}${anchor.leading}`.trim() }))
    .filter(({ text }) => !layout.end.includes(text));
  if (anchors.length > 0) return anchors;
  const [text = ''] = parts.filter((part) => typeof part === 'string' && part.trim() !== '');
  const isBare = layout.arguments.kind === 'json' && layout.arguments.keys !== undefined;
  return isBare || typeof text !== 'string' || text.trim() === ''
    ? []
    : [{ text: text.trim(), leading: layout.header.trim(), rest: [] }];
}

const unclosedMark = /^<[^\s<>]+$/;

function anchorsIn(parts: readonly LayoutPart[]): readonly Anchor[] {
  const anchors: Anchor[] = [];
  parts.forEach((part, index) => {
    if (typeof part !== 'string') return;
    let end = 0;
    let unclosed = '';
    for (const lexeme of lexemes(part)) {
      end += lexeme.length;
      unclosed = lexeme === '<' || (unclosed !== '' && lexeme.trim() !== '') ? unclosed + lexeme : '';
      const isLast = end === part.length || /^\s/.test(part.slice(end));
      const text = isMark(lexeme) ? lexeme : isLast && unclosedMark.test(unclosed) ? unclosed : undefined;
      if (text === undefined) continue;
      const leading = [...parts.slice(0, index), part.slice(0, end - text.length)];
      anchors.push({ text, leading: literalOf(leading), rest: [part.slice(end), ...parts.slice(index + 1)] });
    }
  });
  return anchors;
}

/** The text of parts without white space at its ends; "" where a slot is among them. */
const literalOf = (parts: readonly LayoutPart[]): string =>
  parts.some((part) => typeof part !== 'string') ? '' : parts.join('').trim();

/** The marks that stand after the name of a call, and those that close what stands before it, also where the template leaves them out. */
function closersOf({ open, close, separator = '', before, after, end }: CallLayout): readonly string[] {
  const marksIn = (parts: readonly LayoutPart[]): string[] =>
    parts.flatMap((part) => (typeof part === 'string' ? lexemes(part).filter(isMark) : []));
  const counterparts = marksIn([open, ...before]).map(counterpartOf);
  return [...new Set([...marksIn([...after, close, separator, end]), ...counterparts.filter((mark) => mark !== '')])];
}

/** The mark that closes what a mark with a word for the beginning opens: `<｜calls▁end｜>`; "" = it has no such word. */
const counterpartOf = (mark: string): string => {
  const closing = mark.replace(/(?<![a-z])(?:begin|start)(?![a-z])/i, 'end');
  return closing === mark ? '' : closing;
};
