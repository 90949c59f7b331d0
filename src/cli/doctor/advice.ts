import { chooseFormat, type FormatChoice } from '../../chat/formats/index.ts';
import type { Schema } from '../../protocol/schema.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { describeRate } from '../../inference/models/suggestions/suggestModels.ts';
import { modelSchema } from '../../inference/models/catalogue/modelSchema.ts';
import type { DoctorTarget } from './target.ts';
import type { ToolDialect } from '../../chat/dialect/layout.ts';
import type { ModelDetails } from '../../inference/contract/model.ts';
import { countRight, type FormatScore } from './toolBenchmark.ts';

/** Recommended tool-call format of a model, and why. */
export interface FormatAdvice extends FormatChoice {
  /** False if it is only the default: nothing names or shows a format. */
  readonly isFound: boolean;
}

/** Chooses the tool-call format of a model: named in the catalogue, else detected, else the one with the best score. */
export function formatFor(
  { tool_call_format: catalogue }: CatalogueEntry,
  dialect: Pick<ToolDialect, 'format' | 'because'>,
  trials: readonly FormatScore[] = [],
): FormatAdvice {
  const choice = chooseFormat({ catalogue }, dialect);
  if (catalogue !== '' || dialect.format !== undefined) return { ...choice, isFound: true };
  const winner = bestScore(trials);
  if (!winner) return { ...choice, isFound: false };
  return { name: winner.format, reason: 'it did best in the tool questions', isFound: true };
}

/** What advice depends on: parts of a diagnosis. */
interface AdvisedModel {
  readonly model: Pick<ModelDetails, 'tokens'>;
  readonly toolDialect: Pick<ToolDialect, 'format'>;
  readonly format: FormatChoice;
  readonly trials: readonly FormatScore[] | undefined;
  readonly speed: { readonly decodePerSecond: number | undefined };
}

/** Yields a sentence for each thing that the user should know or may want to change. */
export function* adviseOn(
  { entry, existingName }: DoctorTarget,
  { model, toolDialect, format, trials = [], speed }: AdvisedModel,
): Generator<string> {
  const { tool_call_format: formatName } = entry;
  const { format: detectedFormat } = toolDialect;
  const { decodePerSecond = Infinity } = speed;
  if (decodePerSecond < entry.min_tokens_per_second)
    yield `${describeRate(decodePerSecond)}, and min_tokens_per_second is ${entry.min_tokens_per_second}: lists of models pass it over on this machine`;
  if (existingName !== undefined) yield `models.json has this file already, as "${existingName}"`;
  if (model.tokens.eog.length === 0)
    yield 'the file names no token that ends an answer: answers end only by max_tokens or a stop string';
  if (formatName !== '' && detectedFormat !== undefined && formatName !== detectedFormat)
    yield `models.json names ${formatName}, but the model was trained on ${detectedFormat}: expect fewer and worse calls`;
  const current = trials.find((score) => score.format === format.name);
  const winner = bestScore(trials);
  if (current && winner && scoreOf(winner) >= scoreOf(current) + minScoreLead)
    yield (
      `${winner.format} got ${scoreOf(winner)} answers right and ${current.format} ${scoreOf(current)}: ` +
      `"tool_call_format": "${winner.format}" may work better`
    );
}

// A difference of one answer is chance: there are only six questions.
const minScoreLead = 2;

const scoreOf = ({ free, strict }: FormatScore): number => countRight(free) + countRight(strict);

// Right answers without a call do not count: they prove nothing about a format.
const hasCalled = ({ free, strict = [] }: FormatScore): boolean =>
  [...free, ...strict].some(({ expectsCall, outcome }) => expectsCall && outcome === 'right');

const bestScore = (trials: readonly FormatScore[]): FormatScore | undefined =>
  trials.filter(hasCalled).toSorted((a, b) => scoreOf(b) - scoreOf(a))[0];

/** An entry for models.json, without members that have their default value. */
export type ModelEntry = Readonly<Record<string, unknown>>;

/** Drafts the models.json entry of a model: its own one, or for a file a new one, with the format that was found. */
export function draftEntry({ entry, isListed }: DoctorTarget, contextSize: number, format: FormatAdvice): ModelEntry {
  const [variant, ...others] = entry.variants;
  const draft = {
    ...entry,
    ...(format.isFound && { tool_call_format: format.name }),
    variants: isListed ? entry.variants : [{ ...variant, context_size: contextSize }, ...others],
  };
  return withoutDefaults(draft, modelSchema) as ModelEntry;
}

/** Removes members that have their default value or are not in the schema; the rest is in the schema's order. */
function withoutDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(item, schema.items ?? {}));
  const { properties } = schema;
  if (typeof value !== 'object' || value === null || !properties) return value;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const kept = Object.entries(properties).filter(
    ([name, { default: defaultValue }]) => members[name] !== undefined && !isDefault(members[name], defaultValue),
  );
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutDefaults(members[name], inner)]));
}

const isDefault = (value: unknown, defaultValue: unknown): boolean =>
  JSON.stringify(value) === JSON.stringify(defaultValue);
