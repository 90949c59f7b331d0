import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { mockEngine, readMockScript } from '../../src/inference/mock/engine.ts';
import { engineContract } from './engine.ts';

const script = [
  { match: 'story', answer: 'Once upon a time there was a lamp. '.repeat(20), delay_ms: 2 },
  { match: '^How are you', answer: 'I am fine, thank you.' },
  { match: 'Zürich', answer: '東京 🎉🎊 नमस्ते', chunk: 1 },
];

engineContract({
  name: 'mock',
  open: () => mockEngine({ script: readMockScript(JSON.stringify(script), 'script.json') }),
  file: '',
  long: 'Tell me a story.',
});

const demo = {
  file: fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url)),
  long: 'Tell me a long story about the sea, the wind and the old house.',
};

// The engines below compute as this one does.
engineContract({ ...demo, name: 'llama-cpp', open: () => llamaEngine(), rounds: 15 });

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
afterAll(() => rmSync(folder, { recursive: true }));

engineContract({ ...demo, name: 'caching llama-cpp', open: () => llamaEngine({ folder, maxStateBytes: 1e9 }) });

const processEngine = (mode: 'child' | 'shared') => (): ProcessEngine =>
  new ProcessEngine({ mode, cache: { folder, maxStateBytes: 1e9 } });

engineContract({ ...demo, name: 'llama-cpp with a process per model', open: processEngine('child') });

engineContract({ ...demo, name: 'llama-cpp with a shared process', open: processEngine('shared') });
