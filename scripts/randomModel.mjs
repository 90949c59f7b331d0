// node scripts/randomModel.mjs --out FILE [--shape mid|tiny] [--layers N ...]: writes a GGUF with random weights.
import { parseArgs } from 'node:util';
import { shapes } from './random-model/shapes.mjs';
import { writeRandomModel } from './random-model/write.mjs';

const numbers = {
  words: 'words',
  layers: 'layers',
  width: 'width',
  hidden: 'hidden',
  heads: 'heads',
  'kv-heads': 'kvHeads',
  context: 'contextLength',
  window: 'window',
  kernel: 'kernel',
  seed: 'seed',
};
const flags = ['shape', 'out', 'weights', ...Object.keys(numbers)];

try {
  const { values } = parseArgs({ options: Object.fromEntries(flags.map((flag) => [flag, { type: 'string' }])) });
  const base = shapes[values.shape ?? 'mid'];
  if (!base) throw new RangeError(`--shape must be one of ${Object.keys(shapes).join(', ')}, not "${values.shape}"`);
  if (values.out === undefined) throw new RangeError('--out FILE is missing');
  const given = Object.entries(numbers).flatMap(([flag, key]) =>
    values[flag] === undefined ? [] : [[key, whole(flag, values[flag])]],
  );
  const own = { ...Object.fromEntries(given), ...(values.weights && { weights: values.weights }) };
  const start = performance.now();
  await writeRandomModel(values.out, { ...base, ...own });
  console.error(`${values.out}: written in ${((performance.now() - start) / 1000).toFixed(1)} s`);
} catch (error) {
  const isUsage = error instanceof RangeError || error?.code?.startsWith('ERR_PARSE_ARGS');
  console.error(isUsage ? error.message : error);
  process.exitCode = isUsage ? 2 : 1;
}

function whole(flag, text) {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new RangeError(`--${flag} must be a whole number above 0, not "${text}"`);
  return Number(text);
}
