// Case `files`: mutated copies of a GGUF file. None may end the server; each loads, or is refused with a sentence.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../stress/serverProcess.mjs';
import { withTimeout } from '../stress/timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { layoutOf, mutate } from './mutations.mjs';

export const name = 'files';
export const defaults = { count: 300 };

const turnSeconds = 10;
const limitSeconds = 60;

/**
 * Loads `count` mutated copies of the model on one server, and lets each that loads answer a message. `patience` is a factor of
 * all time limits.
 */
export async function run({ file }, { count, seed, patience = 1, log }) {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-chaos-'));
  const names = Array.from({ length: count }, (_, index) => `mutated-${index}`);
  const catalogue = join(folder, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models: names.map(entryOf) }));
  for (const name of names) await writeFile(fileIn(folder, name), '');
  const flags = { catalogue, 'model-idle': 0, 'turn-timeout': turnSeconds, slots: 1, threads: 1, gpu: 'off' };
  const server = await startServer({ flags });
  const rng = createRng(seed);
  const figures = { files: 0, refused: 0, refusedAtTheTurn: 0, answered: 0 };
  const faults = [];
  const notes = [];
  try {
    const content = await readFile(file);
    const layout = layoutOf(content);
    const client = await server.connect('proto');
    for (const name of names) {
      const { kind, what, content: mutated } = mutate(content, layout, rng);
      const title = `${name} (${kind}: ${what})`;
      await writeFile(fileIn(folder, name), mutated);
      const began = performance.now();
      const outcome = await withTimeout(limitSeconds * patience, title, useModel(client, name)).catch((error) => ({
        error,
      }));
      const seconds = (performance.now() - began) / 1000;
      if (seconds > turnSeconds) notes.push(`${title} took ${seconds.toFixed(1)} s`);
      await rm(fileIn(folder, name));
      figures.files++;
      if ('error' in outcome) {
        faults.push(`${title}: ${outcome.error.code ?? ''} ${outcome.error.message}`);
        if (outcome.error.name === 'CONNECTION_DROPPED') break;
      } else figures[outcome.kind]++;
      if (figures.files % 50 === 0) log(`${figures.files} of ${count} files, ${JSON.stringify(figures)}`);
    }
    if (faults.length === 0) await client.listModels();
    await client.close();
  } finally {
    const { code } = await server.stop(patience);
    if (code !== 0) faults.push(`the server ended with ${code}`);
    await rm(folder, { recursive: true });
  }
  return { ok: faults.length === 0, figures, notes, faults };
}

const entryOf = (name) => ({
  name,
  variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 512 }],
});
const fileIn = (folder, name) => join(folder, `${name}.gguf`);
const graph = {
  start_node: 'answer',
  nodes: { answer: { type: 'Generate', params: { sampling: { temperature: 0, max_tokens: 20 } } } },
};

/** What becomes of a model. Rejects with what must not happen: another error than a refused load, or a silent failure. */
async function useModel(client, defaultModelName) {
  let agent;
  try {
    agent = await client.createAgent({ graph, defaultModelName });
  } catch (error) {
    // The sentence names the file: a user has to find out which one is broken.
    if (error.name === 'MODEL_LOAD_FAILED' && error.message.includes(defaultModelName)) return { kind: 'refused' };
    throw error;
  }
  const { status, error } = await agent.send('Hello!').done.catch(turnErrorOf);
  await agent.destroy();
  if (status === 'SUCCESS') return { kind: 'answered' };
  if (status === 'ERROR' && error.message !== '') return { kind: 'refusedAtTheTurn' };
  throw new Error(`the turn ended with ${status}`);
}

/** A turn that failed has its error in its summary, which the fault carries. */
function turnErrorOf(fault) {
  if (fault.name === 'CONNECTION_DROPPED') throw fault;
  return { status: 'ERROR', error: fault };
}
