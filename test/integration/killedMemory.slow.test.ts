import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createRandom } from '../../scripts/seededRandom.mjs';
import { MemoryFile } from '../../src/graph/storage/memoryFile.ts';
import { changeOf } from '../helpers/memoryChanges.mjs';

const writer = fileURLToPath(new URL('../helpers/memoryWriter.mjs', import.meta.url));
const [kills, files] = [10, 20];

/** The text of each entry, in order, after so many changes. */
function stateAfter(count: number): string {
  const texts = new Map<string, string>();
  // Each id is written again after seven changes.
  for (let at = Math.max(0, count - 70); at < count; at++) {
    const { added, removed } = changeOf(at, new Set(texts.keys()));
    for (const id of removed) texts.delete(id);
    for (const { id, text } of added) {
      texts.delete(id);
      texts.set(id, text);
    }
  }
  return JSON.stringify([...texts.values()]);
}

// Each kill interrupts the writers of twenty files.
it('what was acknowledged is there after 200 writers were killed, and nothing by half', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const random = createRandom(5);
  const counts = Array.from({ length: files }, () => 0);
  try {
    for (let kill = 0; kill < kills; kill++) {
      const child = spawn(process.execPath, [writer, folder, counts.join()], { stdio: ['ignore', 'pipe', 'inherit'] });
      const closed = once(child, 'close');
      let left = 20 + Math.floor(random() * 400);
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        left -= chunk.toString().split('\n').length - 1;
        if (left <= 0) child.kill('SIGKILL');
      });
      await closed;
      for (const line of text.split('\n').slice(0, -1)) {
        const [file = 0, count = 0] = line.split(' ').map(Number);
        counts[file] = count;
      }
      for (const [index, acknowledged] of counts.entries()) {
        await using file = new MemoryFile(join(folder, `${index}.jsonl`), 'facts', 1e6);
        const entries = (await file.open()) ?? [];
        const found = JSON.stringify(entries.map((entry) => entry.text));
        // The change under way may be there, too.
        if (found === stateAfter(acknowledged + 1)) counts[index] = acknowledged + 1;
        else expect(found, `kill ${kill}, file ${index}, ${acknowledged} changes`).toBe(stateAfter(acknowledged));
      }
    }
    expect(Math.min(...counts)).toBeGreaterThan(20);
  } finally {
    await rm(folder, { recursive: true });
  }
}, 120_000);
