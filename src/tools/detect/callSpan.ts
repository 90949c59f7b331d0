import type { Placed } from './objectList.ts';
import type { Said } from './callShape.ts';
import type { DetectedCall } from '../tool.ts';

/** Calls and the piece of the text that they take up. */
export interface Found {
  readonly calls: readonly DetectedCall[];
  /** Where the tag starts that announces them, or else the calls themselves. */
  readonly start: number;
  /** Where the calls themselves start. */
  readonly rawStart: number;
  readonly end: number;
}

/** What one walk over a text finds. */
export interface Findings {
  readonly found: readonly Found[];
  /** Where the call starts in which the text ends. */
  readonly cutAt: number | undefined;
}

/** What a value in a text says, as calls found there. */
export function foundIn(text: string, { start, end, repaired }: Omit<Placed, 'value'>, said: readonly Said[]): Found {
  const raw = text.slice(start, end);
  return { calls: said.map((call) => callAs(call, raw, repaired)), start, rawStart: start, end };
}

const callAs = ({ name, arguments: given, repaired }: Said, raw: string, valueRepaired: boolean): DetectedCall => ({
  name,
  arguments: given,
  raw,
  repaired: repaired || valueRepaired,
});
