// The benchmark's models: the bundled one, and random ones that are created once and cached in the system's temporary folder.
import { mkdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shapes } from '../random-model/shapes.mjs';
import { writeRandomModel } from '../random-model/write.mjs';

// To be increased when the generator writes other files for the same shape.
const generatorVersion = 3;

/** The file of a model: `demo` or the name of a random shape. */
export async function modelFile(name, log = () => {}) {
  if (name === 'demo') return fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url));
  const shape = shapes[name];
  const file = join(tmpdir(), 'turngraph-bench', `${nameOf(name, shape)}.gguf`);
  if (await stat(file).catch(() => undefined)) return file;
  log(`making the random model ${file}`);
  await mkdir(join(tmpdir(), 'turngraph-bench'), { recursive: true });
  await writeRandomModel(file, { ...shape, name });
  return file;
}

const nameOf = (name, { words, layers, width, hidden, heads, kvHeads, contextLength, window, kernel, weights }) =>
  [
    name,
    [words, layers, width, hidden, heads, kvHeads, contextLength].join('x'),
    ...(window ? [`window${window}`] : []),
    ...(kernel ? [`kernel${kernel}`] : []),
    weights,
    `v${generatorVersion}`,
  ].join('-');
