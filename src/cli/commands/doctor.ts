import { dirname } from 'node:path';
import { Command } from 'commander';
import { unknownModel } from '../../models/catalogue/unknownModel.ts';
import { diagnose } from '../../models/doctor/diagnose.ts';
import { ModelPool } from '../../models/pool/pool.ts';
import { findTarget } from '../../models/doctor/target.ts';
import { formats } from '../../tools/formats/index.ts';
import { doctorReport } from '../output/doctorReport.ts';
import { DoctorProgress } from '../output/doctorProgress.ts';
import { localCatalogue } from '../localCatalogue.ts';
import { serverFlags, serverOptions, UsageError } from '../options.ts';
import { colorsFor } from '../output/colors.ts';

/** `turngraph doctor` */
export const doctorCommand = (): Command =>
  serverFlags(
    new Command('doctor')
      .description('load a model and say what the server would do with it, how fast it is and how it calls tools')
      .argument('<model>', 'a name in the catalogue, or the path of a .gguf file')
      .option('--quick', 'leave out the tool questions'),
    ['catalogue', 'models', 'slots', 'threads', 'gpu', 'json'],
  ).action(doctor);

async function doctor(given: string, { quick = false, ...flags }: { readonly quick?: boolean }): Promise<void> {
  const options = serverOptions(flags);
  const catalogue = await localCatalogue(options);
  for (const problem of catalogue.problems) process.stderr.write(`${problem}\n`);
  const subject = await findTarget(given, catalogue, dirname(options.catalogue));
  if (!subject) throw new UsageError(unknownModel(given, catalogue.models, ', and there is no such file'));
  const { llamaEngine } = await import('../../engine/llama/engine.ts');
  const { entry } = subject;
  const only = { models: new Map([[entry.name, entry]]), problems: [] };
  await using pool = new ModelPool(llamaEngine(), { ...options, catalogue: only, idleMs: 0 });
  const diagnosis = await withProgress(entry.name, (onStep) =>
    diagnose(pool, subject, { formats, quick, signal: new AbortController().signal, onStage: onStep }),
  );
  if (options.json) process.stdout.write(`${JSON.stringify(diagnosis, definedOnly)}\n`);
  else process.stdout.write(doctorReport(diagnosis, colorsFor(process.stdout)));
}

// A machine finds every key, and null where nothing is known.
const definedOnly = (_: string, value: unknown): unknown => value ?? null;

async function withProgress<T>(name: string, work: (onStep: DoctorProgress['step']) => Promise<T>): Promise<T> {
  using progress = new DoctorProgress(name);
  return await work((step) => progress.step(step));
}
