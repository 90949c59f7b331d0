import { Downloads } from '../inference/download/downloads.ts';
import type { Catalogue } from '../inference/models/catalogue/catalogue.ts';
import { type ChooseModel, chooseModel } from '../inference/models/suggestions/chooseModel.ts';
import { readMachine } from '../inference/models/suggestions/machine.ts';
import { measuredSpeeds } from '../inference/models/suggestions/measuredSpeeds.ts';
import { type ModelFactSources, readModelFacts } from '../inference/models/suggestions/modelFacts.ts';
import type { TargetMachine } from '../inference/models/suggestions/suggestModels.ts';
import type { ServerOptions } from '../server/config.ts';
import { requireEntry } from './catalogue.ts';

/** The files of models, and the speeds that the servers of this machine have measured. */
export function factSources({ cache: folder, gpu, models }: ServerOptions): ModelFactSources {
  const downloads = new Downloads(models);
  return { downloads, speeds: measuredSpeeds({ downloads, folder, gpu }) };
}

/** Measures this machine, with nothing loaded. Says on standard error when the card is unknown. */
export async function readTargetMachine({ gpu, slots, models }: ServerOptions): Promise<TargetMachine> {
  const { llamaEngine } = await import('../inference/llama/engine.ts');
  await using engine = llamaEngine();
  const { freeRam, card, problem, bandwidth } = await readMachine(engine, gpu);
  if (problem !== undefined) process.stderr.write(`whether there is a graphics card is unknown: ${problem}\n`);
  return { freeRam, card, bandwidth, slots, freeDisk: await new Downloads(models).readFreeBytes() };
}

/** Chooses from lists of models as a server of this machine would, with nothing loaded. */
export function chooserFor(options: ServerOptions, catalogue: Catalogue): ChooseModel {
  const sources = factSources(options);
  let machine: Promise<TargetMachine> | undefined;
  return async (names, failed) => {
    const entries = names.map((name) => requireEntry(catalogue, name));
    const facts = await Promise.all(entries.map((entry) => readModelFacts(entry, sources)));
    return chooseModel(facts, await (machine ??= readTargetMachine(options)), failed);
  };
}
