import { chooseFormat, type FormatChoice } from '../../tools/formats/chooseFormat.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import type { DoctorTarget } from './target.ts';
import { countRight, type FormatScore } from './toolBenchmark.ts';

/** The tool-call format to use with a model. */
export interface FormatAdvice extends FormatChoice {
  /** Whether anything speaks for it. */
  readonly isFound: boolean;
}

/** What is known of a model's format, or else what it showed itself good at. */
export function formatFor(
  { tool_call_format: catalogue }: CatalogueEntry,
  detected = '',
  trials: readonly FormatScore[] = [],
): FormatAdvice {
  const known = chooseFormat({ node: '', catalogue, detected });
  if (catalogue !== '' || detected !== '') return { ...known, isFound: true };
  const winner = bestScore(trials);
  if (!winner) return { ...known, isFound: false };
  return { name: winner.format, reason: 'it did best in the tool questions', isFound: true };
}

/** What is known of a model when it was looked at. */
export interface AdviceInput {
  readonly target: DoctorTarget;
  /** The tokens that end an answer. */
  readonly eogTokens: readonly string[];
  readonly detectedFormat: string | undefined;
  readonly format: FormatChoice;
  readonly trials: readonly FormatScore[] | undefined;
}

/** What a person may want to do about it. */
export function* adviseOn({
  target: subject,
  eogTokens: ends,
  detectedFormat,
  format,
  trials = [],
}: AdviceInput): Generator<string> {
  const { entry, existingName: knownAs } = subject;
  const { tool_call_format: named } = entry;
  if (knownAs !== undefined) yield `models.json has this file already, as "${knownAs}"`;
  if (ends.length === 0)
    yield 'the file names no token that ends an answer: answers end only by max_tokens or a stop string';
  if (named !== '' && detectedFormat !== undefined && named !== detectedFormat)
    yield `models.json names ${named}, but the model was trained on ${detectedFormat}: expect fewer and worse calls`;
  const used = trials.find((trial) => trial.format === format.name);
  const winner = bestScore(trials);
  if (used && winner && scoreOf(winner) >= scoreOf(used) + minScoreLead)
    yield (
      `${winner.format} got ${scoreOf(winner)} answers right and ${used.format} ${scoreOf(used)}: ` +
      `"tool_call_format": "${winner.format}" may serve better`
    );
}

// One answer more or less is luck.
const minScoreLead = 2;

const scoreOf = ({ free, strict }: FormatScore): number => countRight(free) + countRight(strict);

// To be silent where no call is due says nothing of a format.
const hasCalled = ({ free, strict = [] }: FormatScore): boolean =>
  [...free, ...strict].some(({ expectsCall: due, outcome }) => due && outcome === 'right');

const bestScore = (trials: readonly FormatScore[]): FormatScore | undefined =>
  trials.filter(hasCalled).toSorted((a, b) => scoreOf(b) - scoreOf(a))[0];
