// The house with its tools and guidelines, and the messages.
import { readJson, readJsonLines } from '../readJson.mjs';

/**
 * @typedef {object} Guideline
 * @property {string} name
 * @property {string} when
 * @property {readonly string[]} patterns
 * @property {readonly string[]} tools
 */

/**
 * @typedef {object} House
 * @property {string} system_prompt
 * @property {readonly import('../tools/items.mjs').ToolDeclaration[]} tools
 * @property {readonly Guideline[]} guidelines
 */

/**
 * @typedef {object} HouseItem
 * @property {string} id
 * @property {string | null} guideline The one that applies; null: none.
 * @property {string} message
 * @property {readonly import('../tools/items.mjs').ExpectedCall[]} calls
 */

/** Reads the house. @returns {Promise<House>} */
export const readHouse = () => readJson(new URL('house.json', import.meta.url));

/** Reads the messages, at most `limit`. @returns {Promise<readonly HouseItem[]>} */
export const readHouseItems = (limit = Infinity) => readJsonLines(new URL('items.jsonl', import.meta.url), limit);
