// Reads the hand-written sources of the training text: actions, values and small talk.
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readHeldOut } from '../../evals/heldOut.mjs';

/**
 * Something that a program can be asked to do.
 * @typedef {object} Action
 * @property {string} action
 * @property {string} topic The name of its file.
 * @property {string[]} names
 * @property {string[]} descriptions
 * @property {Record<string, Record<string, unknown>>} parameters
 * @property {string[]} requests
 */

/**
 * @typedef {object} Intent
 * @property {string[]} asked
 * @property {string} answer
 */

/**
 * @typedef {object} Character
 * @property {string} who
 * @property {string[]} names
 * @property {string[]} prompts
 * @property {Record<string, string>} [unsure]
 * @property {Intent[]} talk
 */

/**
 * What results of calls are made of.
 * @typedef {object} ResultTexts
 * @property {string[]} phrases
 * @property {string[]} counts
 * @property {string[]} sentences
 * @property {string[]} plain_done
 * @property {string[]} errors
 * @property {{ keys: string[], values: string[], asked?: string[] }[]} fields
 * @property {string[]} flags
 * @property {string[]} done_fields
 * @property {string[]} lists
 * @property {string[]} asks
 * @property {string[]} systems
 */

/**
 * @typedef {object} Catalogue
 * @property {Action[]} actions
 * @property {Record<string, unknown>} values
 * @property {{ talk: Intent[], characters: Character[] }} chat
 * @property {Record<string, string[]>} asides
 * @property {ResultTexts} results
 * @property {{ statements: string[], states: string[], predicates: string[], closings: string[], comments: string[], again: string[] }} reports
 * @property {{ names: string[], whens: string[], words: string[] }[]} topics
 */

const folder = fileURLToPath(new URL('../text/', import.meta.url));
const evalItems = await readHeldOut();
const read = (file) => JSON.parse(readFileSync(`${folder}${file}`, 'utf8'));

/**
 * Reads all text files: the actions, each with its topic (its file) and without the names that tools of the held-out items
 * have; the pools of values; small talk and characters; asides.
 * @returns {Catalogue}
 */
export function readCatalogue() {
  const taken = new Set(namesInItems().map(normalizedName));
  const unseen = (names) => names.filter((name) => !taken.has(normalizedName(name)));
  const actions = readdirSync(`${folder}actions`)
    .sort()
    .flatMap((file) => {
      const topic = basename(file, '.json');
      return read(`actions/${file}`).map((action) => ({
        ...action,
        topic,
        names: topic === 'shipped' ? action.names : unseen(action.names),
      }));
    });
  return {
    actions,
    values: read('values.json'),
    chat: read('chat.json'),
    asides: read('asides.json'),
    results: read('results.json'),
    reports: read('reports.json'),
    topics: read('topics.json'),
  };
}

// The tool names of the hand-written items, here and of the evaluations.
function namesInItems() {
  const own = JSON.parse(readFileSync(new URL('../heldout/everyday.json', import.meta.url), 'utf8'));
  return [...own, ...evalItems].flatMap(({ tools }) => tools.map(({ name }) => name));
}

// A name without case and underscores, because a tool may be written in camel case.
const normalizedName = (name) => name.replaceAll('_', '').toLowerCase();

/** Whether a text belongs to the held-out share, by its hash; the answer never changes. */
export function heldOut(text, share) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32 < share;
}

/** The entries of a list that belong to a part, `train` or `held`; the whole list if there are none. */
export function partOf(part, list, share, text = String) {
  const kept = list.filter((entry) => heldOut(text(entry), share) === (part === 'held'));
  return kept.length > 0 ? kept : list;
}

/**
 * The similarity of two actions, from 0 to 1 (TF-IDF cosine over the words of their names, descriptions and requests).
 * Actions of different files can mean the same; a request for the one then fits the tool of the other.
 */
export function similarityOf(actions) {
  const texts = actions.map(({ names, descriptions, requests }) => [...names, ...descriptions, ...requests].join(' '));
  const bags = texts.map((text) => countStems(text.toLowerCase().match(/[a-z]{3,}/g) ?? []));
  const spread = countStems(bags.flatMap((bag) => [...bag.keys()]));
  const vectors = bags.map((bag) => {
    const weights = [...bag].map(([word, count]) => [
      word,
      Math.log(1 + count) * Math.log(actions.length / spread.get(word)),
    ]);
    const length = Math.hypot(...weights.map(([, weight]) => weight));
    return new Map(weights.map(([word, weight]) => [word, weight / length]));
  });
  const of = new Map(actions.map((action, index) => [action, vectors[index]]));
  return (one, other) => {
    let sum = 0;
    for (const [word, weight] of of.get(one)) sum += weight * (of.get(other).get(word) ?? 0);
    return sum;
  };
}

// Counts words by their first five letters, a simple stem.
function countStems(words) {
  const bag = new Map();
  for (const word of words) bag.set(word.slice(0, 5), (bag.get(word.slice(0, 5)) ?? 0) + 1);
  return bag;
}
