import type { VectorProgress } from '../../graph/retrieval/vectors/storageVectors.ts';
import { countVectors } from './warmReport.ts';

const intervalMs = 5000;

/** Creates a function that prints to stderr how far vectors are, a line every five seconds. */
export function vectorProgress(): (progress: VectorProgress) => void {
  let printedAt = performance.now();
  return ({ name, done, texts }) => {
    if (performance.now() - printedAt < intervalMs) return;
    printedAt = performance.now();
    process.stderr.write(`  ${name}: ${done} of ${countVectors(texts)}\n`);
  };
}
