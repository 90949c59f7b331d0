// The items of the category "result given": a message that needs a call, the result of the call, and what an answer must have.
import { readJson } from '../readJson.mjs';

/**
 * @typedef {object} ResultItem
 * @property {string} id
 * @property {readonly import('./items.mjs').ToolDeclaration[]} tools The first one is to be called.
 * @property {string} message
 * @property {import('./items.mjs').ExpectedCall} call
 * @property {string | object} result Text or a JSON document.
 * @property {boolean} [ok] false: the tool failed, and `result` says why.
 * @property {readonly string[]} accepted An answer must contain one of these. The first one stands in the result.
 */

/**
 * Reads the items, at most `limit`.
 * @returns {Promise<readonly ResultItem[]>}
 */
export async function readResultItems(limit = Infinity) {
  const items = await readJson(new URL('items/resultGiven.json', import.meta.url));
  return items.slice(0, limit);
}
