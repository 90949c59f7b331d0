// Loaded into a server by NODE_OPTIONS=--import, and so into any process that it starts: writes down what was overheard.
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.SOAK_OVERHEARD;
// node-llama-cpp tries its binary out in a process of its own, which has no time for anything else.
const isTryout = process.argv[1]?.includes('testBindingBinary');
if (file && isMainThread && !isTryout) {
  const [{ LlamaContextSequence }, { eavesdrop }] = await Promise.all([
    import('node-llama-cpp'),
    import('./eavesdrop.mjs'),
  ]);
  eavesdrop(LlamaContextSequence.prototype, (overheard) => appendFileSync(file, `${JSON.stringify(overheard)}\n`));
}
