// The functions in which a process spent its CPU time, from the profile that Node writes with --cpu-prof.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const shownFunctions = 20;

/** The functions with the most self time of the process, with their share of its busy time. */
export async function readProfile(folder, pid) {
  const name = (await readdir(folder)).find(
    (file) => file.endsWith('.cpuprofile') && file.split('.')[3] === String(pid),
  );
  if (name === undefined) return undefined;
  const { nodes, samples, timeDeltas } = JSON.parse(await readFile(join(folder, name), 'utf8'));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const micros = new Map();
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const place = placeOf(byId.get(id).callFrame);
    if (place === '(idle)') continue;
    busy += timeDeltas[index];
    micros.set(place, (micros.get(place) ?? 0) + timeDeltas[index]);
  }
  return [...micros]
    .sort(([, a], [, b]) => b - a)
    .slice(0, shownFunctions)
    .map(([place, time]) => ({ place, share: time / busy }));
}

function placeOf({ functionName, url, lineNumber }) {
  const file = url.replace(/^.*\/(?=dist\/|node_modules\/)/, '');
  return file === '' ? functionName || '(anonymous)' : `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`;
}
