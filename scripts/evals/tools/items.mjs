// The items: messages in everyday language, the tools on offer, and the calls that are due.
import { readFile } from 'node:fs/promises';

/** Categories in which a call is due. */
export const calling = ['simple', 'multiple', 'parallel', 'parallelMultiple'];

/** All categories; in the last one no tool fits the message. */
export const categories = [...calling, 'irrelevance'];

/** The items of all categories, each with its category; of each category the first `limit`. */
export async function readItems(limit = Infinity) {
  const lists = await Promise.all(
    categories.map(async (category) => {
      const items = JSON.parse(await readFile(new URL(`items/${category}.json`, import.meta.url), 'utf8'));
      return items.slice(0, limit).map((item) => ({ category, ...item }));
    }),
  );
  return lists.flat();
}
