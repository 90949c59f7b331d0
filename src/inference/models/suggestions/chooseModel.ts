import { Fault } from '../../../protocol/fault.ts';
import type { ModelChoice } from '../../../protocol/frames.gen.ts';
import { isRemote } from '../catalogue/remoteEntry.ts';
import { minMeasuredTurns } from './measuredSpeeds.ts';
import type { ModelFacts } from './modelFacts.ts';
import { describeRate, suggestModels, type TargetMachine } from './suggestModels.ts';

/** Why models could not be loaded, by their names. */
export type FailedModels = ReadonlyMap<string, string>;

/** Chooses from several models, best first, of which some could not be loaded. @throws Fault when none can be used. */
export type ChooseModel = (names: readonly string[], failed: FailedModels) => Promise<ModelChoice>;

/**
 * Takes the first model that is on disk, fits memory and was fast enough; where none is on disk, the first that can be
 * downloaded and fits.
 * @param models in the order of the list.
 * @param onJudged is told of each model that was looked at, and the taken one last.
 * @throws Fault MODEL_LOAD_FAILED with what is wrong with each.
 */
export async function chooseModel(
  models: readonly ModelFacts[],
  machine: TargetMachine,
  failed: FailedModels,
  onJudged: (name: string, judgement: string) => void = () => undefined,
): Promise<ModelChoice> {
  const judged = await Promise.all(
    models.map(async (facts) => {
      const { name } = facts.entry;
      const why = failed.get(name);
      return { ...(why === undefined ? await judge(facts, machine) : unusable(why)), name };
    }),
  );
  const usable = judged.filter(({ isUsable }) => isUsable);
  const taken = usable.find(({ isReady }) => isReady) ?? usable[0];
  const others = judged.slice(0, taken && judged.indexOf(taken)).map(({ name, isUsable, why }) => {
    const problem = isUsable ? 'it is not on disk' : why;
    onJudged(name, `passed over: ${problem}`);
    return `"${name}": ${problem}`;
  });
  if (!taken)
    throw new Fault(
      'MODEL_LOAD_FAILED',
      `no model of the list can be used (${others.join('; ')}); add a smaller one, or lower min_tokens_per_second`,
    );
  const { name, why } = taken;
  onJudged(name, `taken: ${why}`);
  return { name, reason: [why, ...others.map((other) => `not ${other}`)].join('; ') };
}

interface Judgement {
  readonly isUsable: boolean;
  /** Whether it need not be downloaded. */
  readonly isReady: boolean;
  readonly why: string;
}

const unusable = (why: string): Judgement => ({ isUsable: false, isReady: false, why });

async function judge(facts: ModelFacts, machine: TargetMachine): Promise<Judgement> {
  const { entry, status, measuredRate: rate, measuredTurns = 0 } = facts;
  const min = entry.min_tokens_per_second;
  if (rate !== undefined && rate < min && measuredTurns >= minMeasuredTurns)
    return unusable(`${describeRate(rate)}, and its min_tokens_per_second is ${min}`);
  const speed = rate === undefined ? '' : `; ${describeRate(rate)}`;
  if (isRemote(entry)) return { isUsable: true, isReady: true, why: `other machines serve it${speed}` };
  if (status === 'LOADED') return { isUsable: true, isReady: true, why: `it is loaded${speed}` };
  const [{ isLeftOut, downloadBytes, why } = noSuggestion] = await suggestModels([facts], machine);
  return { isUsable: !isLeftOut, isReady: downloadBytes === 0, why };
}

const noSuggestion = { isLeftOut: true, downloadBytes: 0, why: 'it is not known' };
