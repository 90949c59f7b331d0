// A tool as one of many programmers would have declared it: an action with names, descriptions and parameters chosen.
import { heldOut } from './catalogue.mjs';
import { capitalised, inventedWord } from './words.mjs';

// Names of parameters that training never sees.
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

/** Chooses the declaration of an action; `plain` = the first of everything, as the action is written. */
export function toolOf(action, { chance, part, camel = false, plain = false }) {
  const pick = plain ? (list) => list[0] : chance.pick;
  const written = (name) => (camel ? inCamel(name) : name);
  const slots = {};
  const declared = [];
  const taken = new Set();
  for (const [key, parameter] of Object.entries(action.parameters)) {
    if (parameter.optional && !plain && chance.often(0.35)) continue;
    const slot = slotOf(parameter, { chance, plain });
    const base = slot.names ?? parameter.names;
    const name = freeName(() => (plain ? base[0] : parameterName(base, { chance, part, written })), taken);
    taken.add(name);
    slots[key] = { ...slot, name, optional: parameter.optional ?? false };
    const described = parameter.descriptions?.length > 0 && (plain || chance.often(0.4));
    declared.push({
      name,
      type: slot.type,
      ...(described && { description: pick(parameter.descriptions) }),
      ...(slot.enum && { enum: slot.enum }),
      ...(slot.type === 'array' && { items: { type: 'string' } }),
      ...((parameter.optional || (!plain && chance.often(0.06))) && { required: false }),
    });
  }
  const parameters = plain || chance.often(0.75) ? declared : chance.shuffled(declared);
  const description = plain || chance.often(0.96) ? pick(action.descriptions) : '';
  return {
    action,
    slots,
    declaration: { name: toolName(action, { chance, plain, written }), description, parameters },
  };
}

function toolName({ names }, { chance, plain, written }) {
  if (plain) return names[0];
  // A name that says nothing: the description has to be read.
  if (chance.often(0.05))
    return chance.pick([
      inventedWord(chance),
      `${inventedWord(chance)}_${inventedWord(chance)}`,
      `tool${chance.below(20)}`,
    ]);
  const name = chance.pick(names);
  if (chance.often(0.06)) return `${inventedWord(chance)}_${name}`;
  return chance.often(0.03) ? capitalised(inCamel(name)) : written(name);
}

function parameterName(names, { chance, part, written }) {
  for (let tries = 0; ; tries++) {
    const base = chance.often(0.05) ? inventedWord(chance) : chance.pick(names);
    const name = written(chance.often(part === 'held' ? 0.7 : 0.15) ? chance.pick(decorations)(base) : base);
    if (heldOut(`parameter ${name}`, heldNames) === (part === 'held') || tries === 50) return name;
  }
}

function freeName(draw, taken) {
  const name = draw();
  return taken.has(name) ? `${name}_${taken.size + 1}` : name;
}

function slotOf(parameter, { chance, plain }) {
  const { type, values, said = {}, as_enum: asEnum } = parameter;
  if (type === 'boolean') {
    const words = asEnum && !plain && chance.often(0.35) ? asEnum : undefined;
    const choice = (key) => ({ value: words ? words[key] : key === 'true', said: said[key] ?? [] });
    const choices = { true: choice('true'), false: choice('false') };
    if (!words) return { kind: 'choice', type: 'boolean', choices };
    const both = chance.shuffled([words.true, words.false]);
    return { kind: 'choice', type: 'string', names: words.names, enum: both, choices };
  }
  if (parameter.enum) {
    const kept = plain || chance.often(0.7) ? parameter.enum : someOf(parameter.enum, chance);
    const ordered = plain || chance.often(0.7) ? kept : chance.shuffled(kept);
    const spoken = (value) => said[value] ?? [String(value).replaceAll('_', ' ')];
    const choices = Object.fromEntries(ordered.map((value) => [value, { value, said: spoken(value) }]));
    return { kind: 'choice', type, enum: ordered, choices };
  }
  if (type === 'integer' || type === 'number') return { kind: 'number', type, values };
  return { kind: type === 'array' ? 'list' : 'text', type, values };
}

const someOf = (list, chance) => {
  const kept = list.filter(() => chance.often(0.7));
  return kept.length > 1 ? kept : list;
};
