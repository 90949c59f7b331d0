// Changes files of storages that are kept, all at the same time, until it is killed. `node memoryWriter.mjs FOLDER COUNTS`: COUNTS
// are the changes that each file has had, with commas. Prints a line "FILE CHANGES" after each change.
import { createGrowing } from '../../dist/graph/storage/growingStorage.js';
import { MemoryFile } from '../../dist/graph/storage/memoryFile.js';
import { changeOf } from './memoryChanges.mjs';

const [, , folder = '', counts = ''] = process.argv;

/** @type {(index: number, done: number) => Promise<void>} */
async function write(index, done) {
  const file = new MemoryFile(`${folder}/${index}.jsonl`, 'facts', 1e6);
  const storage = createGrowing((await file.open()) ?? [], (...change) => file.write(...change));
  for (let count = done; ; count++) {
    await storage.change(
      () => changeOf(count, new Set(storage.keys)),
      () => undefined,
    );
    // A reader that is slow has not got the line yet: the next change would be one that nobody knows of.
    await new Promise((resolve) => void process.stdout.write(`${index} ${count + 1}\n`, resolve));
  }
}

await Promise.all(counts.split(',').map((count, index) => write(index, Number(count))));
