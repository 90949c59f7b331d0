// What a person says to have a tool called, and the call that is due.

/** A request as written, in parts: text, slots, fixed values and optional stretches. */
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

// An optional stretch is said or not; it cannot be where the tool lacks a parameter of it.
function settled(parts, slots, chance) {
  return parts.flatMap((part) => {
    if (!part.option) return [part];
    const possible = keysOf(part.option).every((key) => Object.hasOwn(slots, key));
    return possible && chance.often(0.5) ? part.option : [];
  });
}

const sayable = (part, slots) => {
  const slot = slots[part.key];
  if (!slot) return false;
  if (part.fixed === undefined)
    return slot.kind !== 'choice' || Object.values(slot.choices).every(({ said }) => said.length > 0);
  return slot.kind === 'choice' ? Object.hasOwn(slot.choices, part.fixed) : true;
};

/** The parts of a request that this tool can be asked with, or undefined. */
function chooseParts({ slots }, list, chance) {
  const all = requestsOf(list);
  for (let tries = 0; tries < 20; tries++) {
    const parts = settled(chance.pick(all), slots, chance);
    const due = Object.entries(slots).filter(([, slot]) => !slot.optional);
    const given = keysOf(parts);
    const fits = parts.every((part) => part.text !== undefined || sayable(part, slots));
    if (fits && due.every(([key]) => given.includes(key))) return parts;
  }
  return undefined;
}

const fixedValue = (slot, text) => {
  if (slot.kind === 'choice') return slot.choices[text].value;
  return slot.kind === 'number' ? Number(text) : slot.kind === 'list' ? [text] : text;
};

/**
 * A message without its ends, and the calls that are due: more than one where one slot is said with several values
 * ("the porch and the hall"). Undefined where no request of the list fits the tool.
 */
export function ask(tool, { requests, draw, chance, calls = 1 }) {
  const parts = chooseParts(tool, requests, chance);
  if (!parts) return undefined;
  const { slots, declaration } = tool;
  const places = parts.filter(({ key, fixed }) => key && fixed === undefined);
  const shared = calls > 1 && places.find(({ key }) => slots[key].kind === 'text' && slots[key].values !== 'message');
  if (calls > 1 && !shared) return undefined;
  const given = new Map();
  let several = [];
  let text = '';
  for (const part of parts) {
    if (part.text !== undefined) text += part.text;
    else if (part.fixed !== undefined) given.set(part.key, fixedValue(slots[part.key], part.fixed));
    else if (part === shared) {
      several = [...new Set(Array.from({ length: calls }, () => draw(slots[part.key]).value))];
      if (several.length < calls) return undefined;
      text += `${several.slice(0, -1).join(', ')} and ${chance.often(0.2) ? 'the ' : ''}${several.at(-1)}`;
    } else {
      const { value, said } = given.has(part.key) ? again(given.get(part.key)) : draw(slots[part.key]);
      given.set(part.key, value);
      text += said;
    }
  }
  const keyOf = new Map(Object.entries(slots).map(([key, { name }]) => [name, key]));
  const order = declaration.parameters.map(({ name }) => keyOf.get(name));
  const call = (extra) => {
    const all = new Map([...given, ...extra]);
    const named = order.filter((key) => all.has(key)).map((key) => [slots[key].name, all.get(key)]);
    return { name: declaration.name, arguments: Object.fromEntries(named) };
  };
  return {
    text,
    opensWithValue: parts[0]?.key !== undefined && parts[0].fixed === undefined,
    calls: shared ? several.map((value) => call([[shared.key, value]])) : [call([])],
  };
}

const again = (value) => ({ value, said: Array.isArray(value) ? value.join(' and ') : String(value) });
