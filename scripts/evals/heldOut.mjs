// What the training text of the demo model must not have: the messages and the tools of all evaluations of this folder.
import { readHouse, readHouseItems } from './guidelines/items.mjs';
import { readJsonLines } from './readJson.mjs';
import { readItems } from './tools/items.mjs';
import { readResultItems } from './tools/resultItems.mjs';
import { readControls, readTwoTurnItems } from './twoTurnLoop/items.mjs';

/**
 * A message of an evaluation, and the tools that are offered with it.
 * @typedef {object} HeldOutItem
 * @property {string} id
 * @property {string} message
 * @property {readonly { readonly name: string }[]} tools
 */

/**
 * Reads the messages and tools of all evaluations.
 * @returns {Promise<readonly HeldOutItem[]>}
 */
export async function readHeldOut() {
  const [calls, results] = await Promise.all([readItems(), readResultItems()]);
  const twoTurns = [...(await readTwoTurnItems()), ...(await readControls())];
  const house = await readHouse();
  const ofHouse = await readHouseItems();
  const routed = await readJsonLines(new URL('route/items.jsonl', import.meta.url));
  return [
    ...calls,
    ...results,
    ...twoTurns.flatMap(({ id, tools, message, told, next }) => [
      { id, tools, message },
      { id, tools, message: `${told} ${next}` },
      { id, tools, message: told },
    ]),
    ...ofHouse.map(({ id, message }) => ({ id, message, tools: house.tools })),
    ...routed.map(({ message, label }, index) => ({ id: `route-${label}-${index}`, message, tools: [] })),
  ];
}
