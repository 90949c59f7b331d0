// Values for parameters: what stands in the call, and how a person says it.
import { partOf } from './catalogue.mjs';
import { capitalised, inventedWord, inWords } from './words.mjs';

// Values of these pools are names: an invented one has capitals.
const proper = new Set(
  'city country person fullname hero fantasy_place planet street company shop team artist spell'.split(' '),
);
const heldShare = 0.15;
const extensions = 'txt pdf jpg png mp3 doc csv zip json log md gpx wav html'.split(' ');

/** Draws values of a part (`train` or `held`) for the parameters of tools. */
export function valuesFrom(pools, chance, part) {
  const lists = new Map();
  const listed = (list) => {
    if (!lists.has(list)) lists.set(list, partOf(part, list, heldShare));
    return chance.pick(lists.get(list));
  };
  const word = () => inventedWord(chance);
  const made = {
    person: () => (chance.often(0.25) ? capitalised(word()) : listed(pools.firstname)),
    fullname: () => `${made.person()} ${chance.often(0.3) ? capitalised(word()) : listed(pools.surname)}`,
    email: () =>
      `${made.person().toLowerCase()}${chance.pick(['', '.', '_', chance.below(99)])}@${word()}.${chance.pick(['com', 'org', 'net'])}`,
    phone: () =>
      Array.from({ length: chance.pick([2, 3, 3]) }, () => chance.below(900) + 100).join(chance.pick([' ', '-', ''])),
    code: () =>
      `${chance.pick([...'ABCDEFGHKLMNPRSTVWXZ'])}${chance.pick(['-', '', ''])}${chance.below(chance.pick([10, 100, 1000]))}`,
  };
  // What has a form of its own is made in that form.
  const two = (number) => String(number).padStart(2, '0');
  const formed = {
    time: () => {
      const [hour, minute] = [chance.below(24), chance.pick([0, 0, 15, 30, 45, chance.below(60)])];
      if (chance.often(0.6)) return `${chance.often(0.5) ? two(hour) : hour}:${two(minute)}`;
      return `${1 + (hour % 12)}${minute === 0 ? '' : `:${two(minute)}`}${chance.pick([' ', ''])}${chance.pick(['am', 'pm'])}`;
    },
    date: () => {
      const [month, day] = [chance.below(12), 1 + chance.below(28)];
      if (chance.often(0.5)) return `20${two(20 + chance.below(20))}-${two(month + 1)}-${two(day)}`;
      return chance.often(0.5) ? `${pools.month[month]} ${day}` : `${day} ${pools.month[month]}`;
    },
    file: () =>
      `${word()}${chance.pick(['', '', '_', '-', chance.below(99)])}${chance.often(0.5) ? listed(pools.word) : ''}.${chance.pick(extensions)}`,
  };
  const invented = (pool) => {
    const words = Array.from({ length: chance.pick([1, 1, 2]) }, () =>
      chance.often(0.6) ? word() : listed(pools[chance.pick(['word', 'object', 'color', 'animal', 'material'])]),
    );
    return words.map(proper.has(pool) ? capitalised : (one) => one).join(' ');
  };
  const anyText = () =>
    Array.from({ length: 2 + chance.below(5) }, () =>
      listed(pools[chance.pick(['word', 'word', 'object', 'topic', 'food'])]),
    ).join(' ');

  function text(source) {
    if (source === 'message' || source === 'title') return chance.often(0.2) ? anyText() : listed(pools[source]);
    if (Object.hasOwn(formed, source) && chance.often(0.4)) return formed[source]();
    if (chance.often(0.22)) return invented(source);
    if (Array.isArray(source)) return listed(source);
    return Object.hasOwn(made, source) ? made[source]() : listed(pools[source]);
  }

  function number({ from, to, step = 1 }) {
    const steps = Math.round((to - from) / step);
    const near = chance.often(0.3) ? Math.min(steps, 20) : steps;
    const value = Number((from + step * chance.below(near + 1)).toFixed(2));
    return { value, said: chance.often(0.2) ? inWords(value) : String(value) };
  }

  /** A value for a slot (see tools.mjs): `{ value, said }`. */
  return function draw(slot) {
    switch (slot.kind) {
      case 'choice': {
        const key = chance.pick(Object.keys(slot.choices));
        return { value: slot.choices[key].value, said: chance.pick(slot.choices[key].said) };
      }
      case 'number':
        return number(slot.values);
      case 'list': {
        const all = [...new Set(Array.from({ length: 1 + chance.below(4) }, () => text(slot.values)))];
        const said = all.length === 1 ? all[0] : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
        return { value: all, said };
      }
      default: {
        const said = text(slot.values);
        return { value: said, said };
      }
    }
  };
}
