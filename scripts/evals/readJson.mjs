import { readFile } from 'node:fs/promises';

/** Reads a JSON file. */
export const readJson = async (url) => JSON.parse(await readFile(url, 'utf8'));
