import { exampleCall } from '../../chat/dialect/nativeFormat.ts';
import { notationName } from '../../chat/dialect/layout.ts';
import type { MarkPair, ReplyMarks } from '../../chat/replyMarks.ts';
import type { ProbeVerdict, ToolDialect } from '../../chat/dialect/toolDialect.ts';

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

/** The probes of a dialect that are not ok: those for which a format is not used, and limits of what is. */
export interface FailedProbes {
  readonly required: readonly ProbeVerdict[];
  readonly limits: readonly ProbeVerdict[];
}

/** Sorts the failed probes of a dialect. */
export function failedProbes({ probes }: ToolDialect): FailedProbes {
  const failed = probes.filter(({ ok }) => !ok);
  return { required: failed.filter(({ required }) => required), limits: failed.filter(({ required }) => !required) };
}

/** A failed probe as a line: its name and why. */
export const probeLine = ({ name, why }: ProbeVerdict): string => `${name}: ${why}`;

/** The title of the failed probes that are not required. */
export const limitsTitle = (dialect: ToolDialect): string =>
  failedProbes(dialect).required.length > 0 ? 'Other probes that failed' : 'Limits: the format is used all the same';
