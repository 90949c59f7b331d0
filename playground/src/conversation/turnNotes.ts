import type { FinishedTurn } from '../../../src/client/index.ts';
import type { GraphNode } from '../document/graphDocument.ts';
import type { TurnRecord } from './turnRecord.ts';

/** What is said below a turn. */
export interface TurnNote {
  readonly text: string;
  readonly tone: 'muted' | 'warn';
}

/** What there is to say about a turn that has ended, besides its fault. */
export function turnNotes({ summary, text, cancelled, endedAt, calls }: TurnRecord): readonly TurnNote[] {
  if (!summary) return cancelled && endedAt === undefined ? [{ text: 'Cancelling …', tone: 'muted' }] : [];
  const { status, stopReason, interactionsDropped: dropped, interactionsSummarised: summarised, warnings } = summary;
  const notes: TurnNote[] = [];
  if (status === 'CANCELLED')
    notes.push({
      text: text === '' ? 'Cancelled before any text.' : 'Cancelled here. The dialog has it so far.',
      tone: 'warn',
    });
  else if (text === '' && calls.length === 0) notes.push({ text: 'No text.', tone: 'muted' });
  if (stopReason === 'LENGTH' && status === 'SUCCESS')
    notes.push({ text: 'The text was cut off: max_tokens or the context was reached.', tone: 'warn' });
  if (dropped > 0)
    notes.push({
      text: `The prompt had no room for ${dropped === 1 ? 'the oldest turn' : `the ${dropped} oldest turns`} of the dialog.`,
      tone: summarised < dropped ? 'warn' : 'muted',
    });
  if (summarised > 0) notes.push({ text: `A summary in the prompt stands for ${summarised} of them.`, tone: 'muted' });
  return [...notes, ...warnings.map((warning): TurnNote => ({ text: warning, tone: 'warn' }))];
}

const stopReasons = {
  NONE: undefined,
  END: 'end',
  LENGTH: 'cut off',
  STOP: 'stop string',
  ABORTED: 'cancelled',
} as const;

/** Why a turn ended, in a word. The last inference of a cancelled turn may have come to its end. */
export const stopText = ({ status, stopReason }: FinishedTurn): string | undefined =>
  status === 'CANCELLED' ? 'cancelled' : stopReasons[stopReason];

/** Why a text came as a whole. */
export function wholeTextLabel(node: GraphNode | undefined): string {
  if (node?.type === 'CannedResponse') return 'canned';
  return node?.params?.['hold'] === true ? 'held back until the end' : 'not streamed';
}
