import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { embeddingContract } from './embedding.ts';
import { engineContract } from './engine.ts';
import { demo } from './generation.ts';

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const bert = join(folder, 'bert.gguf');
writeFileSync(bert, bertGguf({ contextLength: 64 }));
afterAll(() => rmSync(folder, { recursive: true }));

// With a cache of states, too, which the engine of `engine.test.ts` has not.
engineContract({
  ...demo,
  name: 'llama-cpp with a process per model',
  open: () => new ProcessEngine({ cache: { folder, maxStateBytes: 1e9 } }),
  rounds: 3,
});

embeddingContract({
  name: 'llama-cpp in a process of its own',
  open: () => new ProcessEngine(),
  file: bert,
});
