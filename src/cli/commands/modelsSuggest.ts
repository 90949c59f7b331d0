import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import {
  measureBandwidth,
  suggestModels,
  type Figure,
  type Fit,
  type TargetMachine,
  type ModelFacts,
} from '../suggest/suggest.ts';
import { formatBytes } from '../../base/units.ts';
import { findFileProblem, openCatalogue, type OpenCatalogue } from '../catalogue.ts';
import { alignColumns, printComplete, printLine } from '../output/terminalText.ts';

/** `turngraph models suggest`: which models fit this machine. */
export async function suggest(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const opened = await openCatalogue(flags);
  const { catalogue, options } = opened;
  const { readHardware } = await import('../../inference/llama/llamaInstances.ts');
  const { problem, ...hardware } = await readHardware(options.gpu);
  if (problem !== undefined) process.stderr.write(`whether there is a graphics card is unknown: ${problem}\n`);
  const machine: TargetMachine = { ...hardware, bandwidth: await measureBandwidth(), slots: options.slots };
  const facts: ModelFacts[] = [];
  // What generates text: a model for searches is chosen by what it finds.
  const ownModels = [...catalogue.models.values()].filter((entry) => !isRemote(entry) && entry.purpose === 'chat');
  for (const entry of ownModels) facts.push(await readFacts(opened, entry));
  const suggestions = suggestModels(facts, machine);
  if (options.json) return printComplete({ machine, models: suggestions });
  const rows = suggestions.map((model) => [
    model.name,
    fitLabels[model.fit],
    model.size === undefined ? 'unknown' : showBytes(model.size),
    showBytes(model.slotBytes),
    showSpeed(model.tokensPerSecond),
    model.status + (model.problem === undefined ? '' : `: ${model.problem}`),
  ]);
  const table = alignColumns([headings, ...rows]).map((row) => row.join('  ').trimEnd());
  printLine([describeMachine(machine), '', ...table].join('\n'));
}

async function readFacts({ downloads }: OpenCatalogue, entry: CatalogueEntry): Promise<ModelFacts> {
  const { readKvCacheShape } = await import('../../inference/llama/gguf/metadata.ts');
  const located = await downloads.locate(entry);
  const [file] = located?.files ?? [];
  const shape = file === undefined ? undefined : await readKvCacheShape(file);
  const [status, problem] = [await downloads.readStatus(entry), await findFileProblem(downloads, entry)];
  return { entry, status, problem, bytesOnDisk: located?.bytes, shape };
}

const headings = ['model', 'fits', 'size', 'KV cache of a slot', 'decode, estimated', 'status'];

const fitLabels: Readonly<Record<Fit, string>> = {
  card: 'on the card',
  memory: 'in memory',
  slow: 'in memory, slow',
  'one-slot': 'with --slots 1',
  unknown: 'unknown',
  no: 'no',
};

const qualifiers: Readonly<Record<Figure['basis'], string>> = { known: '', estimated: 'about ', assumed: 'perhaps ' };

const showBytes = ({ value, basis }: Figure): string => qualifiers[basis] + formatBytes(value, 1);

const showSpeed = (tokensPerSecond: number | undefined): string =>
  tokensPerSecond === undefined ? 'unknown' : `about ${Number(tokensPerSecond.toPrecision(2))} tokens/s`;

function describeMachine({ freeRam, card, bandwidth }: TargetMachine): string {
  const graphics = card
    ? `${card.names.join(', ')} with ${formatBytes(card.freeBytes, 1)} of ${formatBytes(card.totalBytes, 1)} free`
    : 'no graphics card';
  const speed =
    bandwidth === undefined ? 'memory bandwidth unknown' : `memory bandwidth ${formatBytes(bandwidth, 1)}/s`;
  return `${formatBytes(freeRam, 1)} of memory free, ${graphics}, ${speed}`;
}
