import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { readMockScript } from '../../src/inference/mock/script.ts';
import { engineContract } from './engine.ts';
import { demo } from './generation.ts';

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

// The other engines of llama.cpp compute as this one does: processEngine.slow.test.ts.
engineContract({ ...demo, name: 'llama-cpp', open: () => llamaEngine(), rounds: 3 });
