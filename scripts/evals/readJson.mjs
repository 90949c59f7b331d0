import { readFile } from 'node:fs/promises';

/** Reads a JSON file. */
export const readJson = async (url) => JSON.parse(await readFile(url, 'utf8'));

/** Reads a JSON Lines file: one item a line, at most `limit`. */
export const readJsonLines = async (url, limit = Infinity) =>
  (await readFile(url, 'utf8'))
    .trimEnd()
    .split('\n')
    .slice(0, limit)
    .map((line) => JSON.parse(line));
