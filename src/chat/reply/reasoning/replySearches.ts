import { MarkSearch } from './markSearch.ts';
import { MessageHeaders } from './messageHeaders.ts';
import { hasTag, tagsOf, type ReasoningMarks, type ReplyMarks } from '../../replyMarks.ts';

/** The searches for the marks of a reply: what ends each of its parts. */
export interface ReplySearches {
  readonly inAnswer: MarkSearch;
  readonly inReasoning: ReadonlyMap<ReasoningMarks, MarkSearch>;
  readonly inCall: MarkSearch;
  readonly headers: MessageHeaders | undefined;
}

// Constrained decoding needs them for each token.
const knownSearches = new WeakMap<ReplyMarks, ReplySearches>();

/** The searches for the marks of a reply; the same object for the same marks. */
export function searchesFor(marks: ReplyMarks): ReplySearches {
  const known = knownSearches.get(marks);
  if (known) return known;
  const { reasoning, header, restart } = marks;
  const messageMarks = header ? [header.open, restart].filter(hasTag) : [];
  const searches: ReplySearches = {
    inAnswer: new MarkSearch(tagsOf(marks)),
    inReasoning: new Map(reasoning.map((pair) => [pair, new MarkSearch([pair.close, ...messageMarks])])),
    inCall: new MarkSearch([...reasoning.map(({ close }) => close), ...messageMarks]),
    headers: header && new MessageHeaders(header, marks),
  };
  knownSearches.set(marks, searches);
  return searches;
}
