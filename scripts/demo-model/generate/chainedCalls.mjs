// Requests whose value is only known from the result of another call: "find Anna, then bring the tea there".
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { callOf, chooseParts, isSlot, valueFor } from './requests.mjs';

const pronouns = [
  'it',
  'it',
  'that',
  'there',
  'that one',
  'this',
  'the result',
  'what you find',
  'them',
  'the one you find',
];
const joints = [' and then ', ', then ', ' and ', '. Then ', '. ', ', and ', ', and then ', '. After that, '];
const keys = ['name', 'value', 'result', 'place', 'room', 'id', 'answer', 'found', 'best', 'item', 'where', 'who'];

/**
 * A request in which a word stands for one value, the call with that value, and a result that has it; undefined if the tool has no
 * such request.
 */
export function callWithResult(tool, { requests, draw, rng }) {
  const parts = chooseParts(tool, requests, rng);
  const open = parts?.find((part) => isSlot(part) && tool.slots[part.key].kind === 'text');
  if (!open) return undefined;
  const given = new Map();
  let text = '';
  for (const part of parts) {
    if (part.text !== undefined) {
      text += part.text;
      continue;
    }
    const { value, said } = valueFor(part, tool.slots, { given, draw });
    given.set(part.key, value);
    text += part === open ? rng.pick(pronouns) : said;
  }
  const value = given.get(open.key);
  const content = rng.chance(0.5) ? value : stringifyJson({ [rng.pick([open.key, ...keys])]: value });
  const result = { ok: true, content, answer: `It is ${value}.`, isPhrase: false };
  return { text, call: callOf(tool, given), result, joint: rng.pick(joints) };
}
