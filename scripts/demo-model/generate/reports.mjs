// Messages in which the user says what came of the last call: they need no call.
import { objectOf } from './requestObject.mjs';
import { isCommand, withPunctuation } from './styleVariation.mjs';
import { capitalised } from './words.mjs';

const pasts = Object.fromEntries(
  `set set, put put, get got, make made, give gave, take took, tell told, bring brought, go went, keep kept, send sent, throw threw,
  find found, leave left, hold held, come came, hit hit, shut shut, say said, cut cut, see saw, read read, wake woke, ring rang,
  hang hung, begin began, draw drew, freeze froze, swing swung, buy bought, hide hid, shoot shot, quit quit, break broke, feed fed,
  cast cast, lay laid, teach taught, speak spoke, write wrote, run ran, light lit, stick stuck, lead led, build built, catch caught,
  sink sank, spin spun, sell sold, sit sat, spend spent, forget forgot, let let, show showed, blow blew, fly flew, grow grew, lend lent,
  rise rose, sing sang, stand stood, swim swam, wear wore, win won, undo undid, have had, do did, eat ate, drink drank, pay paid`
    .split(/,\s*/)
    .map((pair) => pair.trim().split(' ')),
);

const participles = Object.fromEntries(
  `give given, take taken, go gone, throw thrown, see seen, wake woken, ring rung, begin begun, draw drawn, freeze frozen, hide hidden,
  break broken, speak spoken, write written, run run, show shown, blow blown, fly flown, grow grown, rise risen, sing sung, wear worn,
  undo undone, do done, eat eaten, drink drunk, come come, shake shaken, choose chosen, ride ridden, drive driven, forget forgotten`
    .split(/,\s*/)
    .map((pair) => pair.trim().split(' ')),
);

// The past of a verb.
function pastOf(verb) {
  if (Object.hasOwn(pasts, verb)) return pasts[verb];
  if (verb.endsWith('e')) return `${verb}d`;
  if (/[^aeiou]y$/.test(verb)) return `${verb.slice(0, -1)}ied`;
  return /^[^aeiou]*[aeiou][^aeiouwxy]$/.test(verb) ? `${verb}${verb.at(-1)}ed` : `${verb}ed`;
}

const participleOf = (verb) => (Object.hasOwn(participles, verb) ? participles[verb] : pastOf(verb));

/**
 * Creates `report(last)`: a message about the last call (`{ tool, text, call }`, undefined for none). `texts` are those of
 * reports.json, `results` those of results.json; `remark()` is a remark about anything.
 */
export function reportsFrom({ texts, results, remark, fill, rng }) {
  return function report(last) {
    const statement = (rng.chance(0.5) && narrationOf(last)) || statementOn(last);
    const closing = closingOf();
    return { text: joined(statement, closing), thanks: /thank|cheers/.test(closing) };
  };

  function closingOf() {
    if (rng.chance(0.15)) return '';
    if (rng.chance(0.5)) return rng.pick(texts.closings);
    return rng.chance(0.75) ? fill(rng.pick(texts.comments)) : remark();
  }

  // What happened to the object of the request, or to one of its values; undefined if it has none.
  function narrationOf(last) {
    const predicate = fill(rng.pick(texts.predicates));
    if (!last) return `the ${fill(rng.pick(['{device}', '{item}', '{object}']))} ${predicate}`;
    const { text, call } = last;
    const object = objectOf(text);
    const values = Object.values(call.arguments).filter((value) => typeof value === 'string');
    if (!object || rng.chance(0.15)) return values.length > 0 ? `${rng.pick(values)} ${predicate}` : undefined;
    const { subject, isPlural, place } = object;
    const be = rng.chance(0.6) ? (isPlural ? 'are' : 'is') : isPlural ? 'were' : 'was';
    const [verb] = text.trim().split(' ');
    const where = place === undefined ? '' : ` ${place}`;
    if (where !== '' && rng.chance(0.4)) return `${subject} ${be}${where}${rng.pick(['', ' now'])}`;
    if (isCommand(text) && rng.chance(0.35)) return `${subject} ${be} ${participleOf(verb.toLowerCase())}${where}`;
    if (rng.chance(0.2)) return `${subject} ${be} ${rng.pick(texts.states)}${rng.pick(['', ' now', where])}`;
    return `${subject} ${isPlural ? asPlural(predicate) : predicate}`;
  }

  function statementOn(last) {
    for (;;) {
      const words = valuesFor(last);
      const template = rng.pick(texts.statements);
      const known = template.replaceAll(/\{(\w+)\}/g, (slot, name) => words[name] ?? slot);
      if (!/\{(?:noun|value|param|words|tool|past)\}/.test(known)) return fill(known);
    }
  }

  function valuesFor(last) {
    const own = {
      state: rng.pick(texts.states),
      phrase: rng.pick(results.phrases),
      sentence: rng.pick(results.sentences),
    };
    if (!last) return rng.chance(0.7) ? own : { ...own, noun: fill(rng.pick(['{device}', '{item}', '{object}'])) };
    const { tool, text, call } = last;
    const names = call.name
      .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .split('_')
      .filter(Boolean);
    const given = Object.entries(call.arguments).filter(
      ([, value]) => typeof value === 'string' || typeof value === 'number',
    );
    const [param, value] = given.length > 0 ? rng.pick(given) : [];
    const [verb, ...rest] = text.trim().split(' ');
    const isShort = isCommand(text) && rest.length < 9 && !/[.!?;:,]/.test(text);
    return {
      ...own,
      noun: names.at(-1),
      words: names.join(' '),
      tool: tool.declaration.name,
      ...(given.length > 0 && { param: param.replaceAll('_', ' '), value: String(value) }),
      ...(isShort && { past: [pastOf(verb.toLowerCase()), ...rest].join(' ') }),
    };
  }

  function joined(statement, closing) {
    const sentence = withPunctuation(statement, { rng, question: false });
    const closed = /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
    const inBrackets = rng.pick([`(${closed})`, `(${closed})`, `(${statement})`, `[${statement}]`, `*${statement}*`]);
    const said = rng.chance(0.35) ? inBrackets : rng.chance(0.1) ? `"${closed}"` : undefined;
    if (closing === '') return said ?? sentence;
    const end = rng.pick(['.', '!', '!', '']);
    if (said !== undefined) return `${said} ${capitalised(closing)}${end}`;
    if (rng.chance(0.25)) return `${capitalised(closing)}${rng.pick([', ', '. ', '! '])}${statement}${end}`;
    return rng.chance(0.3) ? `${capitalised(statement)}, ${closing}${end}` : `${closed} ${capitalised(closing)}${end}`;
  }
}

// The predicates of reports.json are those of one thing.
const asPlural = (predicate) => {
  const [verb, ...rest] = predicate.split(' ');
  const plurals = {
    is: 'are',
    was: 'were',
    has: 'have',
    does: 'do',
    goes: 'go',
    flies: 'fly',
    did: 'did',
    would: 'would',
  };
  return [plurals[verb] ?? verb.replace(/s$/, ''), ...rest].join(' ');
};
