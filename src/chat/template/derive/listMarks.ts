import { commonEnd, commonStart, withoutEnd } from './commonText.ts';

/** The text around the items of a list: `open item.open ... item.close separator item.open ... item.close close`. */
export interface ListMarks {
  readonly open: string;
  readonly item: { readonly open: string; readonly close: string };
  readonly separator: string;
  readonly close: string;
}

/**
 * Reads the marks of a list off a text with two items: what stands `before` the first, `between` the two, and `after` the
 * last. White space at the outer edge of an item counts to the list or to the separator.
 */
export function deriveListMarks(before: string, between: string, after: string): ListMarks {
  const itemOpen = commonEnd(before, between).trimStart();
  const rest = withoutEnd(between, itemOpen);
  const itemClose = commonStart(rest, after).trimEnd();
  return {
    open: withoutEnd(before, itemOpen),
    item: { open: itemOpen, close: itemClose },
    separator: rest.slice(itemClose.length),
    close: after.slice(itemClose.length),
  };
}
