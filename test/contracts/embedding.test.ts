import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { embeddingContract } from './embedding.ts';

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const file = join(folder, 'bert.gguf');
writeFileSync(file, bertGguf({ contextLength: 64 }));
afterAll(() => rmSync(folder, { recursive: true }));

embeddingContract({ name: 'mock', open: () => mockEngine(), file: '' });
embeddingContract({ name: 'llama-cpp', open: () => llamaEngine(), file });
