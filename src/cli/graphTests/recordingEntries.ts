import { RE2JS } from 're2js';
import type { MockScriptEntry } from '../../inference/mock/engine.ts';
import type { RecordedInference } from './recordInferences.ts';

/** An inference, and the turn of which case it was in. */
export interface PlacedInference extends RecordedInference {
  readonly case: string;
  /** From 1. */
  readonly turn: number;
}

/**
 * The entries of a mock script that answer inferences again. Equal inferences share an entry; where the same node has
 * answered the same message in several ways, each entry names its case and turn.
 */
export function recordingEntries(inferences: readonly PlacedInference[]): readonly MockScriptEntry[] {
  const groups = new Map<string, PlacedInference[]>();
  for (const one of inferences) {
    const key = JSON.stringify([one.message, one.node, one.inference]);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first, ...others] = group;
    if (!first) return [];
    const isSame = others.every(({ answer }) => JSON.stringify(answer) === JSON.stringify(first.answer));
    if (isSame) return [toEntry(first)];
    return group.map((one) => ({ ...toEntry(one), case: one.case, turn: one.turn }));
  });
}

const toEntry = ({ message, node, inference, answer }: RecordedInference): MockScriptEntry => ({
  match: `^${RE2JS.quote(message)}$`,
  node,
  nth: inference,
  ...answer,
});

/** Whether all entries of a mock script were recorded: those that a person writes seldom name node and number. */
export const isRecording = (entries: unknown): boolean =>
  Array.isArray(entries) &&
  entries.every((entry: unknown) => {
    const { match, node, nth } = Object(entry) as Readonly<Record<string, unknown>>;
    return typeof match === 'string' && match.startsWith('^') && node !== undefined && nth !== undefined;
  });
