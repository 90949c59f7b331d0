// The conversations of the two-turn loop: a message that needs a call, and a second one that tells the result.
import { readJsonLines } from '../readJson.mjs';

/**
 * @typedef {object} TwoTurnItem
 * @property {string} id
 * @property {readonly import('../tools/items.mjs').ToolDeclaration[]} tools
 * @property {string} message
 * @property {import('../tools/items.mjs').ExpectedCall} call The call that the first message asks for.
 * @property {string} result What the tool gives back.
 * @property {string} told The result as the client phrases it.
 * @property {string} next What the user says next; it asks for no call, but in a control conversation it does.
 * @property {import('../tools/items.mjs').ExpectedCall} [nextCall] The call of a control conversation that it asks for.
 */

/**
 * Reads the conversations, at most `limit`.
 * @returns {Promise<readonly TwoTurnItem[]>}
 */
export const readTwoTurnItems = (limit = Infinity) => readJsonLines(new URL('items.jsonl', import.meta.url), limit);

/**
 * Reads the control conversations, at most `limit`: their second message asks for another call. A model that never calls
 * for a second message fails them.
 * @returns {Promise<readonly TwoTurnItem[]>}
 */
export const readControls = (limit = Infinity) => readJsonLines(new URL('controls.jsonl', import.meta.url), limit);
