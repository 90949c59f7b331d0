import { basename } from 'node:path';
import type { MeasuredMachine } from '../../inference/models/suggestions/machine.ts';
import type { ModelFacts } from '../../inference/models/suggestions/modelFacts.ts';
import type { ModelWish, Suggestion } from '../../inference/models/suggestions/suggestModels.ts';
import { showRate, suggestModels } from '../../inference/models/suggestions/suggestModels.ts';
import { isLanguage } from '../../inference/models/catalogue/parseEntry.ts';
import { type ModelPurpose, modelPurposes } from '../../inference/contract/model.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { describeValue } from '../../protocol/codec/wellFormed.ts';
import { Fault, malformed } from '../../protocol/fault.ts';
import { takeFitting } from '../../protocol/frameSize.ts';
import type { MachineInfo, SuggestedModel, SuggestModelsRequest } from '../../protocol/frames.gen.ts';
import type { Reply, Session } from './session.ts';

/** Max bytes of each of the two lists of an answer. */
const maxListBytes = 27 * 1024;

/** Tells a client which models of the catalogue fit this machine, best first, and why the others do not. */
export async function replySuggestions(
  { pool, context }: Session,
  purpose: ModelPurpose,
  wish: ModelWish,
  reply: Reply,
): Promise<void> {
  const { downloads } = context;
  const [machine, freeDisk] = await Promise.all([context.readMachine(), downloads.readFreeBytes()]);
  // It may have paths.
  if (machine.problem !== undefined) context.log.warn({ why: machine.problem }, unknownCard);
  const facts = (await context.chooser.readAll(pool)).filter(({ entry }) => entry.purpose === purpose);
  const factsOf = new Map(facts.map((each) => [each.entry.name, each]));
  const suggestions = await suggestModels(facts, { ...machine, freeDisk }, wish);
  const fitting = suggestions.filter(({ isLeftOut }) => !isLeftOut);
  const models = fitting.flatMap((suggestion) => {
    const found = factsOf.get(suggestion.name);
    return found ? [modelFields(suggestion, found)] : [];
  });
  const leftOut = suggestions.filter(({ isLeftOut }) => isLeftOut).map(({ name, why }) => ({ name, why }));
  const [shown, shownLeftOut] = [takeFitting(models, maxListBytes), takeFitting(leftOut, maxListBytes)];
  const more = suggestions.length - shown.length - shownLeftOut.length;
  reply('suggestModels', { machine: machineFields(machine, freeDisk), models: shown, leftOut: shownLeftOut, more });
}

function modelFields(suggestion: Suggestion, { entry, status }: ModelFacts): SuggestedModel {
  const { name, downloadBytes, neededBytes = 0, tokensPerSecond = 0, why } = suggestion;
  return {
    name,
    variant: basename(entry.variants[0]?.files[0] ?? ''),
    status,
    downloadBytes,
    memoryBytes: Math.round(neededBytes),
    tokensPerSecond: showRate(tokensPerSecond),
    why,
  };
}

const unknownCard = 'whether there is a graphics card is unknown';

const machineFields = (machine: MeasuredMachine, freeDisk = 0): MachineInfo => ({
  memoryBytes: machine.totalRam,
  freeMemoryBytes: Math.max(0, machine.freeRam),
  cards: machine.card?.names ?? [],
  cardMemoryBytes: machine.card?.totalBytes ?? 0,
  freeCardMemoryBytes: machine.card?.freeBytes ?? 0,
  cores: machine.cores,
  bandwidthBytesPerSecond: Math.round(machine.bandwidth ?? 0),
  problem: machine.problem === undefined ? '' : `${unknownCard}; the log of the server says why`,
  freeDiskBytes: freeDisk,
});

/** Reads what a client wishes for. @throws Fault MALFORMED_MESSAGE that names the field. */
export function readWish(request: SuggestModelsRequest): readonly [ModelPurpose, ModelWish] {
  const { minTokensPerSecond, maxBytes, languages } = request;
  const purpose = modelPurposes.find((known) => known === (request.purpose || 'chat'));
  if (purpose === undefined)
    throw malformed(
      `suggestModels.purpose must be one of ${modelPurposes.join(', ')}, not ${describeValue(request.purpose)}` +
        didYouMean(request.purpose, modelPurposes),
    );
  for (const [field, value] of Object.entries({ minTokensPerSecond, maxBytes }))
    if (!Number.isFinite(value) || value < 0)
      throw malformed(`suggestModels.${field} must be a number from 0 on, not ${value}; 0 = no limit`);
  if (purpose === 'embedding' && minTokensPerSecond > 0)
    throw malformed(
      'suggestModels.minTokensPerSecond is for chat models, as embedding models generate no tokens; leave it out',
    );
  if (languages.length > maxLanguages)
    throw new Fault(
      'LIMIT_EXCEEDED',
      `suggestModels.languages has ${languages.length} codes, and ${maxLanguages} are allowed; send fewer`,
    );
  for (const [index, language] of languages.entries())
    if (!isLanguage(language))
      throw malformed(
        `suggestModels.languages[${index}] must be the code of a language (ISO 639) such as "en", not ${describeValue(language)}`,
      );
  return [purpose, { minTokensPerSecond, maxBytes, languages }];
}

const maxLanguages = 100;
