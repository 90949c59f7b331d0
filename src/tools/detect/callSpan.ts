import type { ParsedObject } from './objectList.ts';
import type { ParsedCall } from './callShape.ts';
import type { DetectedCall } from '../tool.ts';

/** Calls and the piece of the text that they take up. */
export interface CallSpan {
  readonly calls: readonly DetectedCall[];
  /** Where the tag starts that announces them, or else the calls themselves. */
  readonly start: number;
  /** Where the calls themselves start. */
  readonly rawStart: number;
  readonly end: number;
}

/** What one walk over a text finds. */
export interface CallSpans {
  readonly spans: readonly CallSpan[];
  /** Where the call starts in which the text ends. */
  readonly truncatedAt: number | undefined;
}

/** What a value in a text says, as calls found there. */
export function createCallSpan(
  text: string,
  { start, end, repaired }: Omit<ParsedObject, 'value'>,
  said: readonly ParsedCall[],
): CallSpan {
  const raw = text.slice(start, end);
  return { calls: said.map((call) => toDetectedCall(call, raw, repaired)), start, rawStart: start, end };
}

const toDetectedCall = (
  { name, arguments: given, repaired }: ParsedCall,
  raw: string,
  valueRepaired: boolean,
): DetectedCall => ({
  name,
  arguments: given,
  raw,
  repaired: repaired || valueRepaired,
});
