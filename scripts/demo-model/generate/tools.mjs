// Declares a tool for an action, with random names, descriptions and parameters, as different programmers would.
import { heldOut } from './catalogue.mjs';
import { capitalised, inventedWord } from './words.mjs';

// The held-out share of the parameter names.
const heldNames = 0.12;

const decorations = [
  (name) => `target_${name}`,
  (name) => `${name}_name`,
  (name) => `${name}_value`,
  (name) => `new_${name}`,
  (name) => `the_${name}`,
  (name) => `${name}_id`,
  (name) => `${name}2`,
];
const inCamel = (name) => name.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase());

/** Creates the declaration of an action; `plain` uses the first name and description of everything. */
export function toolOf(action, { rng, part, camel = false, plain = false }) {
  const pick = plain ? (list) => list[0] : rng.pick;
  const written = (name) => (camel ? inCamel(name) : name);
  const slots = {};
  const declared = [];
  const taken = new Set();
  for (const [key, parameter] of Object.entries(action.parameters)) {
    if (parameter.optional && !plain && rng.chance(0.35)) continue;
    const slot = slotOf(parameter, { rng, plain });
    const base = slot.names ?? parameter.names;
    const name = freeName(() => (plain ? base[0] : parameterName(base, { rng, part, written })), taken);
    taken.add(name);
    slots[key] = { ...slot, name, optional: parameter.optional ?? false };
    const described = parameter.descriptions?.length > 0 && (plain || rng.chance(0.4));
    declared.push({
      name,
      type: slot.type,
      ...(described && { description: pick(parameter.descriptions) }),
      ...(slot.enum && { enum: slot.enum }),
      ...(slot.type === 'array' && { items: { type: 'string' } }),
      ...((parameter.optional || (!plain && rng.chance(0.06))) && { required: false }),
    });
  }
  const parameters = plain || rng.chance(0.75) ? declared : rng.shuffled(declared);
  const description = plain || rng.chance(0.96) ? pick(action.descriptions) : '';
  return {
    action,
    slots,
    declaration: { name: toolName(action, { rng, plain, written }), description, parameters },
  };
}

function toolName({ names }, { rng, plain, written }) {
  if (plain) return names[0];
  // A meaningless name, so that the description matters.
  if (rng.chance(0.05))
    return rng.pick([inventedWord(rng), `${inventedWord(rng)}_${inventedWord(rng)}`, `tool${rng.below(20)}`]);
  const name = rng.pick(names);
  if (rng.chance(0.06)) return `${inventedWord(rng)}_${name}`;
  return rng.chance(0.03) ? capitalised(inCamel(name)) : written(name);
}

function parameterName(names, { rng, part, written }) {
  for (let tries = 0; ; tries++) {
    const base = rng.chance(0.05) ? inventedWord(rng) : rng.pick(names);
    const name = written(rng.chance(part === 'held' ? 0.7 : 0.15) ? rng.pick(decorations)(base) : base);
    if (heldOut(`parameter ${name}`, heldNames) === (part === 'held') || tries === 50) return name;
  }
}

function freeName(draw, taken) {
  const name = draw();
  return taken.has(name) ? `${name}_${taken.size + 1}` : name;
}

function slotOf(parameter, { rng, plain }) {
  const { type, values, said = {}, as_enum: asEnum } = parameter;
  if (type === 'boolean') {
    const words = asEnum && !plain && rng.chance(0.35) ? asEnum : undefined;
    const choice = (key) => ({ value: words ? words[key] : key === 'true', said: said[key] ?? [] });
    const choices = { true: choice('true'), false: choice('false') };
    if (!words) return { kind: 'choice', type: 'boolean', choices };
    const both = rng.shuffled([words.true, words.false]);
    return { kind: 'choice', type: 'string', names: words.names, enum: both, choices };
  }
  if (parameter.enum) {
    const kept = plain || rng.chance(0.7) ? parameter.enum : someOf(parameter.enum, rng);
    const ordered = plain || rng.chance(0.7) ? kept : rng.shuffled(kept);
    const spoken = (value) => said[value] ?? [String(value).replaceAll('_', ' ')];
    const choices = Object.fromEntries(ordered.map((value) => [value, { value, said: spoken(value) }]));
    return { kind: 'choice', type, enum: ordered, choices };
  }
  if (type === 'integer' || type === 'number') return { kind: 'number', type, values };
  return { kind: type === 'array' ? 'list' : 'text', type, values };
}

const someOf = (list, rng) => {
  const kept = list.filter(() => rng.chance(0.7));
  return kept.length > 1 ? kept : list;
};
