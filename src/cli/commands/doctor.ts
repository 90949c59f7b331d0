import { dirname } from 'node:path';
import { Command } from 'commander';
import { bundledPath } from '../../base/packageFiles.ts';
import { parseGpuLayers } from '../../server/config.ts';
import { createUncachedLlamaEngine } from '../../server/llamaEngine.ts';
import type { RemoteModel } from '../../inference/contract/model.ts';
import { Fault } from '../../protocol/fault.ts';
import { remoteModelOf } from '../../inference/models/catalogue/remoteEntry.ts';
import { unknownModel, type CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { diagnose, diagnoseEmbedding, type OnStage } from '../doctor/diagnose.ts';
import type { Engine } from '../../inference/contract/engine.ts';
import { loadOptionsFor, type PoolOptions } from '../../inference/models/pool/poolOptions.ts';
import { MemoryBudget } from '../../inference/models/pool/memoryBudget.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { findTarget, type DoctorTarget } from '../doctor/target.ts';
import { memoryLine, endpointsReport, doctorReport, embeddingReport, doctorProgress } from '../output/doctorReport.ts';
import { localCatalogue } from '../catalogue.ts';
import { factSources } from '../machine.ts';
import { engineOptions, serverFlags, serverOptions, UsageError } from '../options.ts';
import { colorsFor, printComplete } from '../output/terminalText.ts';

export const doctorCommand = (): Command =>
  serverFlags(
    new Command('doctor')
      .description('load a model and report its settings, memory, speed and tool calling')
      .argument('<model>', 'a name in the catalogue, or the path of a .gguf file')
      .option('--quick', 'leave out the tool questions'),
    ['catalogue', 'models', 'cache', 'slots', ...engineOptions, 'json'],
  ).action(doctor);

async function doctor(nameOrPath: string, { quick = false, ...flags }: { readonly quick?: boolean }): Promise<void> {
  const options = serverOptions(flags);
  const catalogue = await localCatalogue(options);
  for (const problem of catalogue.problems) process.stderr.write(`${problem}\n`);
  const folder = dirname(options.catalogue);
  // The entry is for the models.json of the working directory, not for that of the package.
  const isBundled = options.catalogue === bundledPath('models.json');
  const found = findTarget(nameOrPath, catalogue, { catalogue: folder, entry: isBundled ? '.' : folder });
  if (!found) throw new UsageError(unknownModel(nameOrPath, catalogue, ', and there is no such file'));
  const target = await withPurpose(found);
  const { entry } = target;
  const remote = remoteModelOf(entry);
  if (remote) return reportEndpoints(entry.name, remote, options.json);
  const ownCatalogue = { models: new Map([[entry.name, entry]]), problems: [], rejected: new Map() };
  const engine = await createUncachedLlamaEngine(options);
  const gpuLayers = parseGpuLayers(options.gpuLayers);
  const budget = new MemoryBudget(options);
  const poolOptions: PoolOptions = { ...options, gpuLayers, budget, catalogue: ownCatalogue, idleMs: 0 };
  await using pool = new ModelPool(engine, poolOptions);
  await describePlan(engine, entry, poolOptions);
  const print = (diagnosis: object, text: string): void =>
    options.json ? printComplete(diagnosis) : void process.stdout.write(text);
  const colors = colorsFor(process.stdout);
  if (entry.purpose === 'embedding') {
    const report = await withProgress((onStage) => diagnoseEmbedding(pool, target, onStage));
    return print(report, embeddingReport(report, colors));
  }
  const diagnosis = await withProgress((onStage) => diagnose(pool, target, quick, onStage));
  const { decodePerSecond } = diagnosis.speed;
  if (decodePerSecond !== undefined) await factSources(options).speeds.replace(entry, decodePerSecond);
  print(diagnosis, doctorReport(diagnosis, colors));
}

/** A file without an entry is what its header says; an embedding model has no sampling. */
async function withPurpose(target: DoctorTarget): Promise<DoctorTarget> {
  const [file] = target.files;
  if (target.isListed || file === undefined) return target;
  const { readFilePurpose } = await import('../../inference/llama/gguf/metadata.ts');
  if ((await readFilePurpose(file)) === 'chat') return target;
  return { ...target, entry: { ...target.entry, purpose: 'embedding', default_sampling: {} } };
}

/** Reports on the inference servers of a model. @throws Error when none of them can be used. */
async function reportEndpoints(name: string, remote: RemoteModel, asJson: boolean): Promise<void> {
  // Imported on demand: most models run on this machine.
  const { checkEndpoints } = await import('../../inference/remote/serverApis.ts');
  const { signal } = new AbortController();
  const endpoints = await checkEndpoints(remote, signal);
  if (asJson) printComplete({ name, endpoints });
  else process.stdout.write(endpointsReport(name, endpoints, colorsFor(process.stdout)));
  if (endpoints.every(({ problem }) => problem !== undefined))
    throw new Fault('MODEL_LOAD_FAILED', `no inference server of "${name}" can be used`);
}

/** Says what a model is going to take, before it is loaded. What is wrong with its file is said by the load. */
async function describePlan(engine: Engine, entry: CatalogueEntry, options: PoolOptions): Promise<void> {
  const { limit, isLimited } = options.budget ?? new MemoryBudget();
  const loras = entry.loraFiles?.filter((path) => path !== undefined);
  const loadOptions = { ...loadOptionsFor(entry, options, loras), ...(isLimited && { within: limit }) };
  const plan = await engine.estimate?.(entry.file ?? '', loadOptions).catch(() => undefined);
  if (plan) process.stderr.write(`${memoryLine(entry.name, plan)}\n`);
}

async function withProgress<T>(work: (onStage: OnStage) => Promise<T>): Promise<T> {
  using progress = doctorProgress();
  return await work(progress.show);
}
