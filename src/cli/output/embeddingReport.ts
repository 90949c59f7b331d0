import { relative } from 'node:path';
import { totalMemory } from '../../inference/contract/memory.ts';
import type { EmbeddingDiagnosis } from '../doctor/diagnoseEmbedding.ts';
import { formatBytes } from '../../base/units.ts';
import type { Colors } from './colors.ts';
import { formatMemory } from './memoryLine.ts';
import { printable } from './printable.ts';

/** Formats a diagnosis of an embedding model as text, with the entry for models.json last. */
export function embeddingReport(diagnosis: EmbeddingDiagnosis, colors: Colors): string {
  const { name, files, bytes, dimensions, contextSize, prefixes, stats, similarities, notes, entry } = diagnosis;
  const rows = [
    ['purpose', 'embedding: it generates no text'],
    ['size', formatBytes(bytes, 1)],
    ['vectors', `${dimensions} numbers`],
    ['context', `${contextSize} tokens; of longer texts only the beginning counts`],
    ['query prefix', prefixes.query === '' ? 'none' : JSON.stringify(prefixes.query)],
    ['document prefix', prefixes.document === '' ? 'none' : JSON.stringify(prefixes.document)],
    ['memory', formatMemory(totalMemory(stats.memory))],
    ['backend', stats.gpuLayers > 0 ? `${stats.backend}, with ${stats.gpuLayers} layers` : stats.backend],
    ['threads', String(stats.prefillThreads)],
    ['speed', `${rate(diagnosis.textsPerSecond)} short texts/s, ${rate(diagnosis.tokensPerSecond)} tokens/s`],
    [
      'similarity',
      `${similarities.alike.toFixed(2)} in other words, ${similarities.unlike.toFixed(2)} to something else`,
    ],
  ];
  const shown = files.map((file) => colors.dim(shortPath(file)));
  const lines = rows.map(([label = '', value = '']) => `  ${label.padEnd(columnWidth)}${printable(value)}`);
  const noteLines = notes.map((note) => `  - ${colors.warning(printable(note))}`);
  const sections = [
    [colors.bold(name), ...shown],
    [colors.bold('Model'), ...lines],
    ...(notes.length > 0 ? [[colors.bold('Notes'), ...noteLines]] : []),
    [colors.bold('Entry for models.json'), JSON.stringify(entry, undefined, 2)],
  ];
  return `${sections.map((section) => section.join('\n')).join('\n\n')}\n`;
}

const columnWidth = 18;
const rate = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en-GB');

// Relative to the working directory, when the file is below it.
function shortPath(file: string): string {
  const path = relative('', file);
  return path.startsWith('..') ? file : path;
}
