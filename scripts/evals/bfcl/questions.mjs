// The questions of the Berkeley Function Calling Leaderboard v4, with one message each, from the package bfcl-eval.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageFolder } from '../../weights.mjs';

/** The categories, by their names on the leaderboard. `isAnyCall`: it is right to call, whatever. */
export const categories = {
  simple: 'simple_python',
  multiple: 'multiple',
  parallel: 'parallel',
  parallel_multiple: 'parallel_multiple',
  irrelevance: 'irrelevance',
  live_simple: 'live_simple',
  live_multiple: 'live_multiple',
  live_parallel: 'live_parallel',
  live_parallel_multiple: 'live_parallel_multiple',
  live_irrelevance: 'live_irrelevance',
};

/**
 * The first `limit` questions of a category, or of another file by its name: messages, functions as they are declared, tools, and
 * the truth.
 */
export async function readQuestions(category, limit = Infinity) {
  const folder = join(await packageFolder('bfcl'), 'bfcl_eval', 'data');
  const name = `BFCL_v4_${categories[category] ?? category}.json`;
  const truths = category.endsWith('relevance') ? [] : await readLines(join(folder, 'possible_answer', name));
  const truthOf = new Map(truths.map(({ id, ground_truth: truth }) => [id, truth]));
  const questions = await readLines(join(folder, name));
  return questions.slice(0, limit).map(({ id, question: [messages], function: functions }) => ({
    id,
    functions,
    truth: truthOf.get(id) ?? [],
    system: textOf(messages, 'system'),
    message: textOf(messages, 'user'),
    tools: functions.map(({ parameters, ...rest }) => ({ ...rest, parameters: toSchema(parameters) })),
  }));
}

const textOf = (messages, role) =>
  messages
    .filter((message) => message.role === role)
    .map(({ content }) => content)
    .join('\n\n');

const readLines = async (path) =>
  (await readFile(path, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const types = { dict: 'object', float: 'number', tuple: 'array', any: 'string', list: 'array' };

/** A declaration as JSON Schema: its types have names of Python. Its members stay in their order. */
const toSchema = (schema) =>
  Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key === 'type') return [key, types[value] ?? value];
      if (key === 'items') return [key, toSchema(value)];
      return [key, key === 'properties' ? mapValues(value, toSchema) : value];
    }),
  );

const mapValues = (object, map) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
