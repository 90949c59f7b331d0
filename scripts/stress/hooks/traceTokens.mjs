// Loaded into a server: writes down what was overheard.
import { appendFileSync } from 'node:fs';
import { isOfInterest } from '../hooks.mjs';

const file = process.env.SOAK_OVERHEARD;
if (file && isOfInterest) {
  const [{ LlamaContextSequence }, { eavesdrop }] = await Promise.all([
    import('node-llama-cpp'),
    import('../traceTokens.mjs'),
  ]);
  eavesdrop(LlamaContextSequence.prototype, (overheard) => appendFileSync(file, `${JSON.stringify(overheard)}\n`));
}
