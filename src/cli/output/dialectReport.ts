import { exampleCall } from '../../chat/dialect/nativeFormat.ts';
import { notationName } from '../../chat/dialect/layout.ts';
import type { MarkPair, ReplyMarks } from '../../chat/replyMarks.ts';
import type { ToolDialect } from '../../chat/dialect/toolDialect.ts';

/** The notation of a dialect and a call in it, for a table; empty where no layout proved itself. */
export function layoutRows({ layout }: ToolDialect): readonly (readonly [label: string, value: string])[] {
  if (!layout) return [];
  return [
    ['notation', notationName(layout)],
    ['a call', exampleCall(layout)],
  ];
}

/** The marks around reasoning and answer, for a table. */
export function replyRows({ reasoning, answer }: ReplyMarks): readonly (readonly [label: string, value: string])[] {
  const rows = [['reasoning', reasoning.map(describePair).join(', ')] as const];
  return answer ? [...rows, ['answer', describePair(answer)]] : rows;
}

const describePair = ({ open, close }: MarkPair): string => `${open} ... ${close}`.trimEnd();

/** The probes of a dialect that failed, each with why, under their titles: those for which its format is not used, and limits. */
export function failedProbes({ probes }: ToolDialect): readonly (readonly [title: string, lines: readonly string[]])[] {
  const linesOf = (wanted: boolean): readonly string[] =>
    probes.filter(({ ok, required }) => !ok && required === wanted).map(({ name, why }) => `${name}: ${why}`);
  const [required, limits] = [linesOf(true), linesOf(false)];
  const limitsTitle = required.length > 0 ? 'Other probes that failed' : 'Limits: the format is used all the same';
  const lists = [['Failed probes: the format is not used', required] as const, [limitsTitle, limits] as const];
  return lists.filter(([, lines]) => lines.length > 0);
}
