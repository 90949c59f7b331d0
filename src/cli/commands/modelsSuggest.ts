import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import { factSources, readTargetMachine } from '../machine.ts';
import { readAllFacts } from '../../inference/models/suggestions/modelFacts.ts';
import {
  type Suggestion,
  suggestModels,
  type TargetMachine,
} from '../../inference/models/suggestions/suggestModels.ts';
import { formatBytes } from '../../base/units.ts';
import { openCatalogue } from '../catalogue.ts';
import { alignColumns, printComplete, printLine } from '../output/terminalText.ts';

/** `turngraph models suggest`: which models fit this machine. */
export async function printSuggestions(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const { catalogue, options, downloads } = await openCatalogue(flags);
  const machine: TargetMachine = {
    ...(await readTargetMachine(options)),
    freeDisk: await downloads.readFreeBytes(),
  };
  // What generates text: a model for searches is chosen by what it finds.
  const facts = (await readAllFacts(catalogue, factSources(options))).filter(
    ({ entry }) => !isRemote(entry) && entry.purpose === 'chat',
  );
  const suggestions = await suggestModels(facts, machine);
  if (options.json) return printComplete({ machine, models: suggestions });
  const rows = suggestions.map((model) => [
    model.name,
    fitLabels[model.fit],
    model.size === undefined ? 'unknown' : showBytes(model.size),
    showBytes(model.slotBytes),
    showSpeed(model),
    model.status + (model.problem === undefined ? '' : `: ${model.problem}`),
  ]);
  const table = alignColumns([headings, ...rows]).map((row) => row.join('  ').trimEnd());
  printLine([describeMachine(machine), '', ...table].join('\n'));
}

const headings = ['model', 'fits', 'size', 'KV cache of a slot', 'decode', 'status'];

const fitLabels: Readonly<Record<Suggestion['fit'], string>> = {
  card: 'on the card',
  memory: 'in memory',
  slow: 'in memory, slow',
  'one-slot': 'with --slots 1',
  unknown: 'unknown',
  no: 'no',
};

const qualifiers: Readonly<Record<Suggestion['slotBytes']['basis'], string>> = {
  known: '',
  estimated: 'about ',
  assumed: 'perhaps ',
};

const showBytes = ({ value, basis }: Suggestion['slotBytes']): string => qualifiers[basis] + formatBytes(value, 1);

function showSpeed({ tokensPerSecond: rate, isMeasured }: Suggestion): string {
  if (rate === undefined) return 'unknown';
  const shown = `${Number(rate.toPrecision(2))} tokens/s`;
  return isMeasured ? `${shown}, measured` : `about ${shown}`;
}

function describeMachine({ freeRam, card, bandwidth }: TargetMachine): string {
  const graphics = card
    ? `${card.names.join(', ')} with ${formatBytes(card.freeBytes, 1)} of ${formatBytes(card.totalBytes, 1)} free`
    : 'no graphics card';
  const speed =
    bandwidth === undefined ? 'memory bandwidth unknown' : `memory bandwidth ${formatBytes(bandwidth, 1)}/s`;
  return `${formatBytes(freeRam, 1)} of memory free, ${graphics}, ${speed}`;
}
