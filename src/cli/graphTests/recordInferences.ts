import { RE2JS } from 're2js';
import { withMembers } from '../../base/withMembers.ts';
import { type MockScriptEntry, scriptedRequest } from '../../inference/mock/script.ts';
import type { Engine, Sequence } from '../../inference/contract/engine.ts';
import { watchSequences } from '../ownServer.ts';

/** What a model answered in an inference, as a mock script has it, and what it was asked by. */
export interface RecordedInference {
  readonly message: string;
  readonly node: string;
  /** The number of the inference within its turn. */
  readonly inference: number;
  readonly answer: Pick<MockScriptEntry, 'answer' | 'finish' | 'choices' | 'scores'>;
}

/** Lets a listener know of each finished inference of the models that an engine loads from now on. */
export const recordInferences = (engine: Engine, onInference: (recorded: RecordedInference) => void): Engine =>
  watchSequences(engine, (sequence) => recordSequence(sequence, onInference));

function recordSequence(sequence: Sequence, onInference: (recorded: RecordedInference) => void): Sequence {
  return withMembers(sequence, {
    async generate(prompt, options) {
      const completion = await sequence.generate(prompt, { ...options, transcript: true });
      const { finishReason: finish, transcript, choices = [] } = completion;
      if (finish === 'aborted' || !transcript) return completion;
      const { text } = transcript;
      // The tokens of the mock engine are fewer or more: it would cut the answer elsewhere.
      const isNearLimit = text.length > options.sampling.max_tokens;
      // In full: a rounded one could be above or below a limit.
      const unsure = choices
        .filter(({ probability }) => probability < 1)
        .map(({ start, end, probability }) => `${start}-${end}:${probability}`);
      const answer = {
        answer: text,
        ...((finish !== 'end' || isNearLimit) && { finish }),
        ...(unsure.length > 0 && { choices: unsure.join(' ') }),
      };
      onInference({ ...scriptedRequest(prompt, options, sequence.label), answer });
      return completion;
    },
    async score(prompt, answers, options) {
      const result = await sequence.score(prompt, answers, options);
      if (result.finishReason === 'aborted') return result;
      const scores = toShares(answers, result.scores);
      onInference({ ...scriptedRequest(prompt, options, sequence.label), answer: { scores } });
      return result;
    },
  });
}

const digits = 6;

/** Answers as shares, 1 in all, for a script: only compared with each other. Rounded down, not to exceed 1. */
function toShares(answers: readonly string[], scores: readonly number[]): Record<string, number> {
  const highest = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const share = (index: number): number => Math.floor(((weights[index] ?? 0) / total) * 10 ** digits) / 10 ** digits;
  return Object.fromEntries(answers.map((answer, index) => [answer, share(index)]));
}

/** Collects what models answer, with the case and turn that runs. */
export class Recorder {
  readonly #inferences: PlacedInference[] = [];
  #place: Pick<PlacedInference, 'case' | 'turn'> = { case: '', turn: 0 };

  /** Tells which turn of which case runs. */
  enter(name: string, turn: number): void {
    this.#place = { case: name, turn };
  }

  add(recorded: RecordedInference): void {
    this.#inferences.push({ ...recorded, ...this.#place });
  }

  /** Returns what was collected, and forgets it. */
  take(): readonly PlacedInference[] {
    return this.#inferences.splice(0);
  }
}

/** An inference, and the turn of which case it was in. */
export interface PlacedInference extends RecordedInference {
  readonly case: string;
  /** From 1. */
  readonly turn: number;
}

/** A script that answers inferences again. Equal ones share an entry; unequal answers name case and turn. */
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
