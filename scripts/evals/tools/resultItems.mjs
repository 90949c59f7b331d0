// The items of the category "result given": a message that needs a call, the result of the call, and what an answer must have.
import { readJsonLines } from '../readJson.mjs';

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
export const readResultItems = (limit = Infinity) =>
  readJsonLines(new URL('items/resultGiven.jsonl', import.meta.url), limit);
