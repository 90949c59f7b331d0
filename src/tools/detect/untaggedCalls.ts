import { balance, type Bracketed } from './brackets.ts';
import { foundIn, type Findings, type Found } from './callSpan.ts';
import type { Past } from '../reasoning/reasoningSpans.ts';
import { pastSeparators, readRun, type Placed } from './objectList.ts';
import { readValue } from '../json/lenientParser.ts';
import { callsIn, type CallKeys, type Said } from './callShape.ts';

/** What stands in a text without a tag. */
export interface BareFindings extends Findings {
  /** Whether all from `cutAt` to the end of the text reads as one value: what looks like a tag there is in a string. */
  readonly cutInValue: boolean;
}

/** Finds the calls that stand in a text without a tag. */
export function bareCalls(text: string, keys: CallKeys, past: Past): BareFindings {
  const lead = leadingCalls(text, firstVisible(text, past), keys);
  if (lead.cutAt !== undefined) return { ...lead, cutInValue: true };
  const { pieces, cutAt } = balance(text, lead.end, past);
  const rest = cutAt === undefined ? undefined : readValue(text, cutAt);
  return {
    found: [...lead.found, ...pieces.flatMap((piece) => callsBetween(text, piece, keys))],
    cutAt,
    cutInValue: rest !== undefined && !rest.ok && rest.cut,
  };
}

// Only here a lenient reading is safe: nothing but a call or an answer in JSON starts a text with a bracket.
function leadingCalls(text: string, start: number, keys: CallKeys): Findings & { readonly end: number } {
  if (text[start] !== '{' && text[start] !== '[') return { found: [], cutAt: undefined, end: start };
  const { objects, list, end, fault } = readRun(text, start, true);
  const said = objects.map(({ value }) => callsIn(value, keys, { tagged: false, lenient: true }));
  const cut = fault === undefined ? pastSeparators(text, end) === text.length : fault.cutIn !== undefined;
  const isData = list !== 'none' && (said.some((calls) => calls.length === 0) || (list === 'open' && !cut));
  if (isData) return { found: [], cutAt: undefined, end: list === 'closed' ? end : start };
  const found = foundAll(text, objects, said);
  return { found, cutAt: fault?.cutIn && fault.start, end: fault?.start ?? end };
}

function callsBetween(text: string, { start, end }: Bracketed, keys: CallKeys): readonly Found[] {
  const shape = { tagged: false, lenient: false };
  if (text[start] === '{') {
    const read = readValue(text, start);
    const said = read.ok ? callsIn(read.value, keys, shape) : [];
    return said.length === 0 ? [] : [foundIn(text, { start, end, repaired: false }, said)];
  }
  const { objects, list } = readRun(text, start, false);
  const said = objects.map(({ value }) => callsIn(value, keys, shape));
  const isData = list !== 'closed' || said.some((calls) => calls.length === 0);
  return isData ? [] : foundAll(text, objects, said);
}

const foundAll = (text: string, objects: readonly Placed[], said: readonly (readonly Said[])[]): readonly Found[] =>
  objects.flatMap((object, index) => {
    const calls = said[index] ?? [];
    return calls.length === 0 ? [] : [foundIn(text, object, calls)];
  });

function firstVisible(text: string, past: Past): number {
  let at = -1;
  for (let next = 0; next !== at; next = past(next + leadingBlanks(text, next))) at = next;
  return at;
}

const blanks = /\s*/y;

function leadingBlanks(text: string, at: number): number {
  blanks.lastIndex = at;
  blanks.test(text);
  return blanks.lastIndex - at;
}
