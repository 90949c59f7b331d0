// Requests: their templates with slots, and the calls that they ask for.
import { joinValues } from './valueList.mjs';

/**
 * A part of a request: text, a slot (`key`), a slot with a fixed value, or an optional segment.
 * @typedef {object} RequestPart
 * @property {string} [text]
 * @property {string} [key]
 * @property {string} [fixed]
 * @property {readonly RequestPart[]} [option]
 */

/**
 * Parses a request template into text, slots, fixed values and optional segments.
 * @param {string} request
 * @returns {RequestPart[]}
 */
export function parseRequest(request) {
  return [...request.matchAll(/\[([^\]]*)\]|\{([^}=]+)(?:=([^}]*))?\}|[^[{]+/g)].map(([whole, option, key, fixed]) => {
    if (option !== undefined) return { option: parseRequest(option) };
    if (fixed !== undefined) return { fixed, key };
    return key === undefined ? { text: whole } : { key };
  });
}

const keysOf = (parts) => parts.flatMap((part) => (part.option ? keysOf(part.option) : part.key ? [part.key] : []));

/** The requests of an action, parsed once. */
const parsed = new Map();
function requestsOf(list) {
  if (!parsed.has(list)) parsed.set(list, list.map(parseRequest));
  return parsed.get(list);
}

// Keeps an optional segment or not; it is impossible if the tool lacks one of its parameters.
function resolveOptions(parts, slots, rng) {
  return parts.flatMap((part) => {
    if (!part.option) return [part];
    const possible = keysOf(part.option).every((key) => Object.hasOwn(slots, key));
    return possible && rng.chance(0.5) ? part.option : [];
  });
}

const canExpress = (part, slots) => {
  const slot = slots[part.key];
  if (!slot) return false;
  if (part.fixed === undefined)
    return slot.kind !== 'choice' || Object.values(slot.choices).every(({ said }) => said.length > 0);
  return slot.kind === 'choice' ? Object.hasOwn(slot.choices, part.fixed) : true;
};

/** The parts of a random request that fits this tool, or undefined. */
export function chooseParts({ slots }, list, rng) {
  const all = requestsOf(list);
  for (let tries = 0; tries < 20; tries++) {
    const parts = resolveOptions(rng.pick(all), slots, rng);
    const expectsCall = Object.entries(slots).filter(([, slot]) => !slot.optional);
    const given = keysOf(parts);
    const fits = parts.every((part) => part.text !== undefined || canExpress(part, slots));
    if (fits && expectsCall.every(([key]) => given.includes(key))) return parts;
  }
  return undefined;
}

const fixedValue = (slot, text) => {
  if (slot.kind === 'choice') return slot.choices[text].value;
  return slot.kind === 'number' ? Number(text) : slot.kind === 'list' ? [text] : text;
};

/** Whether a part of a request is a slot for a value. */
export const isSlot = ({ key, fixed }) => key !== undefined && fixed === undefined;

/** Whether a request begins with a value, which keeps its case. */
export const startsWithValue = (parts) => {
  const first = parts.find((part) => part.text?.trim() || isSlot(part));
  return first !== undefined && isSlot(first);
};

/** The value of a slot and its wording; a key that is in `given` already keeps its value. */
export function valueFor({ key, fixed }, slots, { given, draw }) {
  if (fixed !== undefined) return { value: fixedValue(slots[key], fixed), said: '' };
  if (given.has(key)) return again(given.get(key));
  // "From here to here" makes no sense: a new value differs from those of the other slots.
  for (let tries = 0; ; tries++) {
    const drawn = draw(slots[key]);
    if (tries === 10 || typeof drawn.value !== 'string' || ![...given.values()].includes(drawn.value)) return drawn;
  }
}

/** The call of a tool with values for its slots, in the order in which its parameters are declared. */
export function callOf({ slots, declaration }, given) {
  const keyOf = new Map(Object.entries(slots).map(([key, { name }]) => [name, key]));
  const named = declaration.parameters.filter(({ name }) => given.has(keyOf.get(name)));
  return {
    name: declaration.name,
    arguments: Object.fromEntries(named.map(({ name }) => [name, given.get(keyOf.get(name))])),
  };
}

// Slots that may have several values in one message: texts, and choices of three or more.
const listable = ({ kind, values, choices }) =>
  kind === 'text' ? values !== 'message' : kind === 'choice' && Object.keys(choices).length > 2;

/**
 * A request without capital and punctuation, and the expected calls: several if one slot has several values ("the porch and
 * the hall"). Undefined if no request of the list fits the tool.
 */
export function createRequest(tool, { requests, draw, rng, calls = 1 }) {
  const parts = chooseParts(tool, requests, rng);
  if (!parts) return undefined;
  const { slots } = tool;
  const shared = calls > 1 ? parts.find((part) => isSlot(part) && listable(slots[part.key])) : undefined;
  if (calls > 1 && !shared) return undefined;
  const given = new Map();
  const several = new Map();
  const list = () => {
    while (several.size < calls) {
      const { value, said } = draw(slots[shared.key]);
      several.set(value, said);
      // A list may be too short for as many values.
      if (rng.chance(0.05)) break;
    }
    return joinValues([...several.values()], text, rng);
  };
  let text = '';
  for (const part of parts) {
    if (part.text !== undefined) text += part.text;
    else if (part === shared) text += list();
    else {
      const { value, said } = valueFor(part, slots, { given, draw });
      given.set(part.key, value);
      text += said;
    }
  }
  if (shared && several.size < calls) return undefined;
  return {
    text,
    opensWithValue: startsWithValue(parts),
    calls: shared
      ? [...several.keys()].map((value) => callOf(tool, new Map([...given, [shared.key, value]])))
      : [callOf(tool, given)],
  };
}

const again = (value) => ({ value, said: Array.isArray(value) ? value.join(' and ') : String(value) });
