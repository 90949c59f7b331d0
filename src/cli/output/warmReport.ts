import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withMembers } from '../../base/withMembers.ts';
import type { KeptState, Engine, WarmUpResult } from '../../inference/contract/engine.ts';
import type { VectorReport, VectorProgress } from '../../graph/retrieval/vectors/storageVectors.ts';
import { watchSequences } from '../ownServer.ts';
import { plural } from './terminalText.ts';

/** What `turngraph warm` has done with a graph. */
export interface WarmedGraph {
  readonly graph: string;
  /** Empty: there was none. */
  readonly error: string;
  readonly warnings: readonly string[];
  /** Those with a model. */
  readonly nodes: readonly NodePrefill[];
  /** Of the storages that nodes search by vectors. */
  readonly vectors: readonly VectorReport[];
}

export interface PromptFolder {
  readonly folder: string;
  readonly prompts: number;
  readonly bytes: number;
}

const descriptions: Readonly<Record<KeptState, string>> = {
  saved: 'saved',
  present: 'was saved before',
  few_tokens: 'not saved: so few are evaluated faster than a file is read',
  too_large: 'not saved: they do not fit in the context; shorten the system prompt, or raise context_size',
  not_asked: 'not saved: not only the head of a prompt',
  no_cache:
    'not saved: there is no prompt cache; --cache names a folder that can be written, --cache-limit must not be 0',
  failed: 'not saved: the disk is full, or --cache-limit has no room for it',
  stopped: 'not saved: the evaluation was aborted',
};

const goodStates: readonly KeptState[] = ['saved', 'present', 'few_tokens'];

/** Whether all of a graph is in the prompt cache that should be. */
export const isWarm = ({ error, nodes, vectors }: WarmedGraph): boolean =>
  error === '' &&
  nodes.every(({ kept }) => goodStates.includes(kept)) &&
  vectors.every(({ unsaved }) => unsaved === undefined);

export function describeGraph({ graph, error, warnings, nodes, vectors }: WarmedGraph): { out: string; err: string } {
  const lines = [
    ...(error === '' ? [`${graph}: ok`] : []),
    ...nodes.map(({ node, tokens, kept }) => `  ${node}: ${plural(tokens, 'token')}, ${descriptions[kept]}`),
    ...vectors.map((report) => `  ${report.name}: ${plural(report.texts, 'vector')}, ${describeVectors(report)}`),
  ];
  const errors = [...warnings.map((warning) => `warning: ${warning}`), ...(error === '' ? [] : [error])];
  return {
    out: lines.map((line) => `${line}\n`).join(''),
    // The error of a graph that was not found names it.
    err: errors.map((line) => `${line.startsWith(graph) ? '' : `${graph}: `}${line}\n`).join(''),
  };
}

function describeVectors({ isRestored, unsaved }: VectorReport): string {
  if (unsaved !== undefined) return `not saved: ${unsaved}`;
  return isRestored ? 'were saved before' : 'saved';
}

/** Counts the states in the folder of the prompt cache. */
export async function readFolder(folder: string): Promise<PromptFolder> {
  const states = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.state'));
  const sizes = await Promise.all(states.map(async (name) => (await stat(join(folder, name))).size));
  return { folder, prompts: states.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

export const describeFolder = ({ folder, prompts, bytes }: PromptFolder): string =>
  `${folder}: ${plural(prompts, 'prompt')}, ${(bytes / 1e6).toFixed(1)} MB\n`;

export interface NodePrefill extends WarmUpResult {
  readonly node: string;
}

/** Lets a listener know of each prefill of the models that an engine loads from now on. */
export const watchPrefills = (engine: Engine, onPrefill: (prefill: NodePrefill) => void): Engine =>
  watchSequences(engine, (sequence) =>
    withMembers(sequence, {
      async prefill(...options) {
        const result = await sequence.prefill(...options);
        onPrefill({ node: sequence.label, ...result });
        return result;
      },
    }),
  );

const intervalMs = 5000;

/** Creates a function that prints to stderr how far vectors are, a line every five seconds. */
export function vectorProgress(): (progress: VectorProgress) => void {
  let printedAt = performance.now();
  return ({ name, done, texts }) => {
    if (performance.now() - printedAt < intervalMs) return;
    printedAt = performance.now();
    process.stderr.write(`  ${name}: ${done} of ${plural(texts, 'vector')}\n`);
  };
}
