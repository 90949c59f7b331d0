import { setImmediate as nextRound } from 'node:timers/promises';
import type { ScriptedScores } from './script.ts';
import { waitMs } from './waitMs.ts';

/** The probability of an answer that a script does not name, and the smallest one of those that it names. */
const unnamedProbability = 1e-6;
/** The share of all replies that are one of the answers, where a script has no scores. */
const answerShare = 0.99;
const maxCountedWords = 100;

/**
 * The logarithms of the probabilities of answers: those of a script; without one, an answer is ten times as probable for each
 * of its words that occurs in the last message of the prompt.
 * @returns undefined when the signal is aborted.
 */
export async function scoreAnswers(
  answers: readonly string[],
  { script, lastMessage, signal }: ScoringInputs,
): Promise<readonly number[] | undefined> {
  // A turn may score answers many times, one after the other: the event loop runs in between.
  await nextRound();
  if (signal.aborted) return undefined;
  for (const _ of answers) {
    if (script) await waitMs(script.delay_ms, signal);
    if (signal.aborted) return undefined;
  }
  if (!script) return scoresByWords(answers, lastMessage);
  const named = new Map(Object.entries(script.scores));
  return answers.map((answer) => Math.log(Math.max(named.get(answer) ?? 0, unnamedProbability)));
}

/** What the mock engine scores answers by. */
export interface ScoringInputs {
  readonly script: ScriptedScores | undefined;
  readonly lastMessage: string;
  readonly signal: AbortSignal;
}

function scoresByWords(answers: readonly string[], message: string): readonly number[] {
  const known = new Set(wordsOf(message));
  const countKnown = (answer: string): number => wordsOf(answer).filter((word) => known.has(word)).length;
  const weights = answers.map((answer) => 10 ** Math.min(maxCountedWords, countKnown(answer)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => Math.log((answerShare * weight) / total));
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
