import { createReader } from '../../protocol/schema.ts';
import { readJsonFile, type JsonFile } from '../jsonFile.ts';
import type { CallAnswerer } from './callAnswer.ts';
import { answererOf, findContentErrors, resultsSchema } from './resultEntries.ts';

const readEntries = createReader(resultsSchema);

/**
 * Reads the file of `--results`: a list of results, each for the calls of a tool. The first entry that matches a call is
 * its result.
 * @throws Error that names the file, the place, the entry and the fix.
 */
export async function readResultsFile(path: string): Promise<CallAnswerer> {
  const file = await readJsonFile(path);
  if (file.syntaxError !== undefined) throw new Error(file.syntaxError);
  const reading = readEntries(JSON.parse(file.text));
  if (!reading.ok) {
    throw new Error(reading.errors.map(({ pointer, message }) => describeAt(file, pointer, message)).join('\n'));
  }
  const [problem] = findContentErrors(reading.value);
  if (problem) throw new Error(describeAt(file, problem.pointer, problem.message));
  return answererOf(reading.value, path);
}

// People count from 1.
function describeAt(file: JsonFile, pointer: string, message: string): string {
  const place = file.positionOf(pointer);
  const [, index, ...names] = pointer.split('/');
  if (index === undefined)
    return `${place}: the list of results ${message}; write [{"tool": "the name", "content": "the result"}]`;
  const entry = `entry ${Number(index) + 1}`;
  return `${place}: ${[entry, ...names].join('.')} ${message}${names.length === 0 ? '; write {"tool": "the name", "content": "the result"}' : ''}`;
}
