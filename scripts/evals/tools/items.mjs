// The items of the tool-call evaluation: messages in everyday language, the declared tools, and the expected calls.
import { readJsonLines } from '../readJson.mjs';

/** @typedef {'simple' | 'multiple' | 'parallel' | 'parallelMultiple' | 'irrelevance'} Category */

/** @typedef {Extract<import('../../../src/chat/tools/declaration/toolSchema.ts').ToolDeclaration, { name: string }>} ToolDeclaration */

/**
 * @typedef {object} ExpectedCall
 * @property {string} name
 * @property {Readonly<Record<string, readonly unknown[]>>} arguments The correct values of each parameter; null among
 *   them: it may be absent.
 */

/**
 * @typedef {object} Item
 * @property {Category} category
 * @property {string} id
 * @property {readonly ToolDeclaration[]} tools
 * @property {string} message
 * @property {readonly ExpectedCall[]} calls
 */

/**
 * Categories in which a call is expected.
 * @type {readonly Category[]}
 */
export const callCategories = ['simple', 'multiple', 'parallel', 'parallelMultiple'];

/**
 * All categories; in the last one no tool fits the message.
 * @type {readonly Category[]}
 */
export const categories = [...callCategories, 'irrelevance'];

/**
 * Reads the items of all categories, at most `limit` of each.
 * @returns {Promise<readonly Item[]>}
 */
export async function readItems(limit = Infinity) {
  const lists = await Promise.all(
    categories.map(async (category) => {
      const items = await readJsonLines(new URL(`items/${category}.jsonl`, import.meta.url), limit);
      return items.map((item) => ({ category, ...item }));
    }),
  );
  return lists.flat();
}
