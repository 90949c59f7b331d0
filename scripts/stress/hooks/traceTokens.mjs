// Preload hook: appends token traces to the file named by STRESS_TOKEN_LOG, one JSON object a line.
import { appendFileSync } from 'node:fs';
import { isServerProcess } from '../hooks.mjs';

const file = process.env.STRESS_TOKEN_LOG;
if (file && isServerProcess) {
  const [{ LlamaContextSequence }, { traceTokens }] = await Promise.all([
    import('node-llama-cpp'),
    import('../traceTokens.mjs'),
  ]);
  traceTokens(LlamaContextSequence.prototype, (trace) => appendFileSync(file, `${JSON.stringify(trace)}\n`));
}
