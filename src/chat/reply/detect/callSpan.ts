import type { ParsedObject } from './objectList.ts';
import type { ParsedCall } from './callShape.ts';
import type { DetectedCall } from '../../tool.ts';

/** Calls and their range in the text; `end` is exclusive. */
export interface CallSpan {
  readonly calls: readonly DetectedCall[];
  /** Start of the tag before the calls; without a tag, of the calls themselves. */
  readonly start: number;
  /** Start of the calls themselves. */
  readonly rawStart: number;
  readonly end: number;
}

/** The calls of one kind (tagged or untagged) in a text, in its order. */
export interface CallSpans {
  readonly spans: readonly CallSpan[];
  /** Start of a call that the end of the text cuts off; undefined: none is. */
  readonly truncatedAt: number | undefined;
}

/** The span of a JSON value that holds calls. */
export function createCallSpan(
  text: string,
  { start, end, repaired }: Omit<ParsedObject, 'value'>,
  parsedCalls: readonly ParsedCall[],
): CallSpan {
  const raw = text.slice(start, end);
  return { calls: parsedCalls.map((call) => toDetectedCall(call, raw, repaired)), start, rawStart: start, end };
}

const toDetectedCall = ({ repaired, ...call }: ParsedCall, raw: string, valueRepaired: boolean): DetectedCall => ({
  ...call,
  raw,
  repaired: repaired || valueRepaired,
});
