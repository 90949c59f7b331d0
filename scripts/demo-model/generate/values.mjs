// Random parameter values: the value in the call, and its wording in the message.
import { partOf } from './catalogue.mjs';
import { capitalised, inventedWord, inWords } from './words.mjs';

// Values of these pools are names: an invented one has capitals.
const proper = new Set(
  'city country person fullname hero fantasy_place planet street company shop team artist spell'.split(' '),
);
const heldShare = 0.15;
const extensions = 'txt pdf jpg png mp3 doc csv zip json log md gpx wav html'.split(' ');

/** Creates a generator of parameter values of a part (`train` or `held`). */
export function valuesFrom(pools, rng, part) {
  const lists = new Map();
  const listed = (list) => {
    if (!lists.has(list)) lists.set(list, partOf(part, list, heldShare));
    return rng.pick(lists.get(list));
  };
  const word = () => inventedWord(rng);
  const made = {
    person: () => (rng.chance(0.25) ? capitalised(word()) : listed(pools.firstname)),
    fullname: () => `${made.person()} ${rng.chance(0.3) ? capitalised(word()) : listed(pools.surname)}`,
    email: () =>
      `${made.person().toLowerCase()}${rng.pick(['', '.', '_', rng.below(99)])}@${word()}.${rng.pick(['com', 'org', 'net'])}`,
    phone: () => Array.from({ length: rng.pick([2, 3, 3]) }, () => rng.below(900) + 100).join(rng.pick([' ', '-', ''])),
    code: () =>
      `${rng.pick([...'ABCDEFGHKLMNPRSTVWXZ'])}${rng.pick(['-', '', ''])}${rng.below(rng.pick([10, 100, 1000]))}`,
  };
  // Values with a format of their own.
  const two = (number) => String(number).padStart(2, '0');
  const formed = {
    time: () => {
      const [hour, minute] = [rng.below(24), rng.pick([0, 0, 15, 30, 45, rng.below(60)])];
      if (rng.chance(0.6)) return `${rng.chance(0.5) ? two(hour) : hour}:${two(minute)}`;
      return `${1 + (hour % 12)}${minute === 0 ? '' : `:${two(minute)}`}${rng.pick([' ', ''])}${rng.pick(['am', 'pm'])}`;
    },
    date: () => {
      const [month, day] = [rng.below(12), 1 + rng.below(28)];
      if (rng.chance(0.5)) return `20${two(20 + rng.below(20))}-${two(month + 1)}-${two(day)}`;
      return rng.chance(0.5) ? `${pools.month[month]} ${day}` : `${day} ${pools.month[month]}`;
    },
    file: () =>
      `${word()}${rng.pick(['', '', '_', '-', rng.below(99)])}${rng.chance(0.5) ? listed(pools.word) : ''}.${rng.pick(extensions)}`,
  };
  const invented = (pool) => {
    const words = Array.from({ length: rng.pick([1, 1, 2]) }, () =>
      rng.chance(0.6) ? word() : listed(pools[rng.pick(['word', 'object', 'color', 'animal', 'material'])]),
    );
    return words.map(proper.has(pool) ? capitalised : (one) => one).join(' ');
  };
  const anyText = () =>
    Array.from({ length: 2 + rng.below(5) }, () =>
      listed(pools[rng.pick(['word', 'word', 'object', 'topic', 'food'])]),
    ).join(' ');

  function text(source) {
    if (source === 'message' || source === 'title') return rng.chance(0.2) ? anyText() : listed(pools[source]);
    if (Object.hasOwn(formed, source) && rng.chance(0.4)) return formed[source]();
    if (rng.chance(0.22)) return invented(source);
    if (Array.isArray(source)) return listed(source);
    return Object.hasOwn(made, source) ? made[source]() : listed(pools[source]);
  }

  function number({ from, to, step = 1 }) {
    const steps = Math.round((to - from) / step);
    const near = rng.chance(0.3) ? Math.min(steps, 20) : steps;
    const value = Number((from + step * rng.below(near + 1)).toFixed(2));
    return { value, said: rng.chance(value <= 12 ? 0.4 : 0.15) ? inWords(value) : String(value) };
  }

  /** A value for a slot (see tools.mjs): `{ value, said }`. */
  return function draw(slot) {
    switch (slot.kind) {
      case 'choice': {
        const key = rng.pick(Object.keys(slot.choices));
        return { value: slot.choices[key].value, said: rng.pick(slot.choices[key].said) };
      }
      case 'number':
        return number(slot.values);
      case 'list': {
        const all = [...new Set(Array.from({ length: 1 + rng.below(4) }, () => text(slot.values)))];
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
