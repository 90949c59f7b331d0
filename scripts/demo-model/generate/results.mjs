// Results of calls: text or JSON, and the sentences that a model answers with. They are made of the words of the result, so that a
// model of this size can say a result that it has never seen.
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { inventedWord } from './words.mjs';

/** The answer to results that only say that a call succeeded. */
const done = 'Done.';

/**
 * The result of a call.
 * @typedef {object} CallResult
 * @property {boolean} ok
 * @property {string} content Text or JSON.
 * @property {string} answer The sentences that say all of it.
 * @property {boolean} isPhrase Whether it is a phrase, which says too little of one call among several.
 * @property {readonly { readonly asks: readonly string[], readonly answer: string }[]} [facts] Questions for a part of it.
 */

/** Creates a generator of results; `fill` fills placeholders (placeholders.mjs), `texts` are those of results.json. */
export function resultsFrom({ texts, fill, rng }) {
  const kinds = { phrase: 5, count: 1, sentence: 3, done: 3, object: 8, list: 2, records: 1, error: 2 };
  const weighted = Object.entries(kinds).flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));
  const make = { phrase, count, sentence, done: finished, object, list, records, error };

  /** A random result of a call; `call` has the arguments that a result may repeat. */
  return (call) => make[rng.pick(weighted)](call);

  function phrase() {
    const content = rng.chance(0.2) ? inventedText() : fill(rng.pick(texts.phrases));
    return { ok: true, content, answer: `It is ${content}.`, isPhrase: true };
  }

  function count() {
    const content = fill(rng.pick(texts.counts));
    return { ok: true, content, answer: `There are ${content}.`, isPhrase: true };
  }

  function sentence() {
    const content = Array.from({ length: rng.pick([1, 1, 1, 2]) }, () => fill(rng.pick(texts.sentences))).join(' ');
    return { ok: true, content, answer: content, isPhrase: false };
  }

  function finished() {
    const name = rng.pick(texts.done_fields);
    const json = rng.chance(0.8) ? { [name]: true } : { status: rng.pick(['ok', 'done', 'success']) };
    const content = rng.chance(0.5) ? rng.pick(texts.plain_done) : stringifyJson(rng.chance(0.1) ? {} : json);
    return { ok: true, content, answer: done, isPhrase: false };
  }

  function object(call) {
    const facts = distinct(Array.from({ length: rng.pick([1, 1, 2, 2, 3, 4]) }, fact));
    const echoed = rng.chance(0.3) ? rng.pick([...Object.entries(call.arguments), undefined]) : undefined;
    const fields = [...facts.map(({ key, value }) => [key, value]), ...(echoed ? [echoed] : [])];
    const ordered = rng.chance(0.5) ? fields : rng.shuffled(fields);
    const json = Object.fromEntries([...(rng.chance(0.15) ? [[rng.pick(texts.done_fields), true]] : []), ...ordered]);
    const wrapped = rng.chance(0.08) ? { [rng.pick(['result', 'data', 'response', 'value'])]: json } : json;
    // What the user has said is not said again.
    const said = Object.keys(json).flatMap((name) => facts.filter(({ key }) => key === name));
    const answer = said.map((one) => one.answer).join(' ');
    return { ok: true, content: stringifyJson(wrapped), answer, isPhrase: false, facts: said.length > 1 ? said : [] };
  }

  function list() {
    const values = someValues();
    const content = stringifyJson(values);
    return { ok: true, content, answer: found(values), isPhrase: false };
  }

  function records() {
    const facts = distinct(Array.from({ length: rng.pick([1, 2]) }, fact)).filter(({ value }) => !Array.isArray(value));
    const name = rng.pick(['name', 'title', 'id', 'item']);
    const all = someValues()
      .slice(0, 3)
      .map((value) => [value, facts.map(({ redraw }) => redraw())]);
    const json = all.map(([value, others]) => ({
      [name]: value,
      ...Object.fromEntries(facts.map(({ key }, at) => [key, others[at]])),
    }));
    const said = all.map(([value, others]) => (others.length > 0 ? `${value} (${others.join(', ')})` : value));
    return { ok: true, content: stringifyJson(json), answer: found(said), isPhrase: false };
  }

  function error() {
    const fault = fill(rng.pick(texts.errors));
    if (rng.chance(0.07)) return { ok: false, content: '', answer: 'That did not work.', isPhrase: false };
    const answer = `That did not work: ${fault}.`;
    if (rng.chance(0.6)) return { ok: false, content: fault, answer, isPhrase: false };
    const field = rng.pick(['error', 'error', 'reason', 'message']);
    const json = { ...(field !== 'error' && { ok: false }), [field]: fault };
    return { ok: rng.chance(0.5), content: stringifyJson(json), answer, isPhrase: false };
  }

  // A field of an object, with the sentence that says it and questions for it.
  function fact() {
    if (rng.chance(0.15)) return flag();
    if (rng.chance(0.12)) return listed();
    const { keys, values, asked = [] } = rng.pick(texts.fields);
    const base = rng.chance(0.2) ? inventedWord(rng) : rng.pick(keys);
    const key = nameOf(
      rng.chance(0.12)
        ? `${rng.chance(0.5) ? inventedWord(rng) : rng.pick(['next', 'new', 'total', 'current'])}_${base}`
        : base,
    );
    const redraw = () => toValue(rng.chance(0.2) ? inventedText() : fill(rng.pick(values)));
    const value = redraw();
    const asks = [...asksFor(key), ...(keys.includes(key) ? asked : [])];
    return { key, value, redraw, asks, answer: `The ${inWords(key)} ${be(key)} ${value}.` };
  }

  function flag() {
    const base = rng.pick(texts.flags);
    const key = rng.chance(0.2) ? `is_${base}` : base;
    const redraw = () => rng.chance(0.5);
    const value = redraw();
    const words = inWords(base);
    return {
      key,
      value,
      redraw,
      asks: [`is it ${words}`, `tell me whether it is ${words}`],
      answer: `It is ${value ? '' : 'not '}${words}.`,
    };
  }

  function listed() {
    const key = rng.pick(texts.lists);
    const value = rng.chance(0.08) ? [] : someValues();
    const answer = value.length === 0 ? `The ${key} ${be(key)} empty.` : `The ${key} ${be(key)} ${inARow(value)}.`;
    return { key, value, redraw: () => value, asks: asksFor(key), answer };
  }

  function asksFor(key) {
    return Array.from({ length: 4 }, () => rng.pick(texts.asks).replace('{key}', inWords(key)));
  }

  function someValues() {
    const values = rng.pick(rng.pick(texts.fields).values);
    return [
      ...new Set(Array.from({ length: 1 + rng.below(4) }, () => (rng.chance(0.25) ? inventedText() : fill(values)))),
    ];
  }

  function inventedText() {
    return Array.from({ length: rng.pick([1, 1, 2]) }, () => inventedWord(rng)).join(' ');
  }

  function nameOf(words) {
    return rng.chance(0.1) ? words.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase()) : words;
  }
}

const be = (key) => (/[^s]s$/.test(key) ? 'are' : 'is');
const distinct = (facts) => facts.filter(({ key }, index) => facts.findIndex((other) => other.key === key) === index);
const toValue = (text) => (String(Number(text)) === text ? Number(text) : text);
const inWords = (name) =>
  name.replaceAll('_', ' ').replaceAll(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`);
const inARow = (values) =>
  values.length > 1 ? `${values.slice(0, -1).join(', ')} and ${values.at(-1)}` : String(values[0]);
const found = (values) => (values.length === 0 ? 'I found nothing.' : `I found ${inARow(values)}.`);

/** The answer to all results of a turn, in order: each sentence once, phrases with what their call was about. */
export function answerTo(answered) {
  if (answered.length === 1) return answered[0].result.answer;
  const sentences = answered.map(({ call, result }) => {
    const [subject] = Object.values(call.arguments).filter((value) => typeof value === 'string');
    return result.isPhrase && subject !== undefined ? `${subject}: ${result.content}.` : result.answer;
  });
  return [...new Set(sentences)].join(' ');
}
