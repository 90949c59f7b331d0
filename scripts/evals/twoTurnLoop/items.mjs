// The conversations of the two-turn loop: a message that needs a call, and a second one that tells the result.
import { readJson } from '../readJson.mjs';

/**
 * @typedef {object} TwoTurnItem
 * @property {string} id
 * @property {readonly import('../tools/items.mjs').ToolDeclaration[]} tools
 * @property {string} message
 * @property {import('../tools/items.mjs').ExpectedCall} call The call that the first message asks for.
 * @property {string} result What the tool gives back.
 * @property {string} told The result as the client phrases it.
 * @property {string} next What the user says next; it asks for no call.
 */

/**
 * Reads the conversations, at most `limit`.
 * @returns {Promise<readonly TwoTurnItem[]>}
 */
export async function readTwoTurnItems(limit = Infinity) {
  const items = await readJson(new URL('items.json', import.meta.url));
  return items.slice(0, limit);
}
