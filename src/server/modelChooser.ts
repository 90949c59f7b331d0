import { totalMemory } from '../inference/contract/memory.ts';
import type { ModelPool } from '../inference/models/pool/pool.ts';
import { chooseModel, type FailedModels } from '../inference/models/suggestions/chooseModel.ts';
import {
  type ModelFactSources,
  type ModelFacts,
  readAllFacts,
  readModelFacts,
} from '../inference/models/suggestions/modelFacts.ts';
import type { ModelChoice } from '../protocol/frames.gen.ts';
import type { TargetMachine } from '../inference/models/suggestions/suggestModels.ts';

export type ModelChooser = ReturnType<typeof modelChooser>;

/** Chooses models from lists of names, and remembers why. */
export function modelChooser(sources: ModelFactSources, readMachine: () => Promise<TargetMachine>) {
  const judgements = new Map<string, string>();
  return {
    speeds: sources.speeds,
    /** What the last list with this model made of it; "" = there was none. */
    judgementOf: (name: string): string => judgements.get(name) ?? '',
    /** Reads what is known of all models of a catalogue. */
    readAll: async (pool: ModelPool): Promise<readonly ModelFacts[]> =>
      (await readAllFacts(pool.catalogue, sources)).map((facts) => withState(facts, pool)),
    /** @param names of a list, best first. @throws Fault UNKNOWN_MODEL, MODEL_LOAD_FAILED when none can be used. */
    async choose(pool: ModelPool, names: readonly string[], failed: FailedModels): Promise<ModelChoice> {
      // The mock engine answers for any model.
      if (!pool.needsName) return { name: names[0] ?? '', reason: 'the engine needs no files' };
      const entries = names.map((name) => pool.entry(name));
      const [facts, machine, freeDisk] = await Promise.all([
        Promise.all(entries.map((entry) => readModelFacts(entry, sources))),
        readMachine(),
        sources.downloads.readFreeBytes(),
      ]);
      const current = facts.map((each) => withState(each, pool));
      return chooseModel(current, { ...machine, freeDisk }, failed, (name, judgement) =>
        judgements.set(name, judgement),
      );
    },
  };
}

/** What is known of a model, with what it takes if it is in memory. */
function withState(facts: ModelFacts, pool: ModelPool): ModelFacts {
  const { name } = facts.entry;
  const { loaded, stats } = pool.state(name);
  if (!loaded && !pool.loading.includes(name)) return facts;
  return { ...facts, status: 'LOADED', ...(loaded && stats && { held: totalMemory(stats.memory) }) };
}
