// Validates the hand-written training text: each problem is reported with its file and entry, none is skipped silently.
import { parseRequest } from './requests.mjs';

const types = ['string', 'integer', 'number', 'boolean', 'array'];
const slots = /\{[^{}[\]=]+(?:=[^{}[\]]*)?\}/g;
const unpairedBracket = 'an unpaired bracket';
const made = ['person', 'fullname', 'email', 'phone', 'code'];

/**
 * The problems of a catalogue, one sentence each; absent parts have none.
 * @param {Partial<import('./catalogue.mjs').Catalogue>} catalogue
 * @returns {string[]}
 */
export function findProblems({
  actions = [],
  values = {},
  chat = { talk: [], characters: [] },
  asides = {},
  results = {},
  reports = {},
}) {
  const pools = new Set([...Object.keys(values), ...made]);
  const fillable = new Set([...pools, 'n']);
  return [
    ...actions.filter(isDuplicate).map(({ action, topic }) => `${topic}.json, ${action}: another action has this name`),
    ...actions.flatMap((action) => actionProblems(action, pools)),
    ...Object.entries(asides).flatMap(([kind, texts]) =>
      texts.flatMap((text) => placeholderProblems(text, fillable, noPool)).map(at(`asides.json, ${kind}`)),
    ),
    ...placeholderFaults('results.json', results, new Set([...fillable, 'number', 'key'])),
    ...placeholderFaults('reports.json', reports, new Set([...fillable, ...reportWords])),
    ...talkProblems(chat.talk, none).map(at('chat.json, talk')),
    ...chat.characters.flatMap((character) => characterProblems(character).map(at(`chat.json, ${character.who}`))),
  ];
}

// What the statements of reports.json are made of (reports.mjs).
const reportWords = ['number', 'noun', 'value', 'param', 'words', 'tool', 'past', 'state', 'phrase', 'sentence'];

// Problems of the lists of a file, at whatever depth they have texts.
const placeholderFaults = (file, lists, fillable) =>
  Object.entries(lists).flatMap(([name, list]) =>
    textsIn(list)
      .flatMap((text) => placeholderProblems(text, fillable, noPool))
      .map(at(`${file}, ${name}`)),
  );
const textsIn = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(textsIn));

const isDuplicate = ({ action }, index, actions) => actions.findIndex((other) => other.action === action) < index;
const at = (place) => (fault) => `${place}, ${fault}`;

function actionProblems({ action, topic, names, descriptions, parameters, requests }, pools) {
  const place = `${topic}.json, ${action}`;
  return [
    ...(names.length < 2 ? [`${place}: it needs two names or more that no held-out tool has`] : []),
    ...(descriptions.length < 3 ? [`${place}: it needs three descriptions or more`] : []),
    ...Object.entries(parameters).flatMap(([key, parameter]) =>
      parameterProblems(parameter, pools).map((fault) => `${place}, ${key}: ${fault}`),
    ),
    ...requests.flatMap((request) => requestProblems(request, parameters).map(of(request)).map(at(place))),
  ];
}

const of = (text) => (fault) => `"${text}": ${fault}`;
const noPool = (name) => `no pool of values.json is called ${name}`;

function parameterProblems({ names, type, values, enum: members, said }, pools) {
  const faults = [];
  if (!(names?.length > 0)) faults.push('it has no names');
  if (!types.includes(type)) faults.push(`its type is none of ${types.join(', ')}`);
  if (typeof values === 'string' && !pools.has(values)) faults.push(noPool(values));
  const ranged = type === 'integer' || type === 'number';
  if (ranged && !members && !(Number.isFinite(values?.from) && Number.isFinite(values.to)))
    faults.push('its values need { "from", "to" }');
  if ((type === 'string' || type === 'array') && !members && !values) faults.push('it needs values or an enum');
  const strangers = members && said ? Object.keys(said).filter((value) => !members.includes(value)) : [];
  for (const value of strangers) faults.push(`${value} is said, but not in the enum`);
  return faults;
}

function requestProblems(request, parameters) {
  if (/\[[^\]]*\[/.test(request)) return ['optional segments cannot be nested'];
  if (/[[\]{}]/.test(request.replaceAll(slots, '').replaceAll(/\[[^[\]]+\]/g, ''))) return [unpairedBracket];
  const parts = parseRequest(request);
  const all = parts.flatMap((part) => part.option ?? [part]).filter(({ key }) => key);
  const always = new Set(parts.map(({ key }) => key));
  return [
    ...all.flatMap((part) => slotProblems(part, parameters[part.key])),
    ...Object.entries(parameters)
      .filter(([key, { optional }]) => !optional && !always.has(key))
      .map(([key]) => `it leaves {${key}} open, which is not optional`),
  ];
}

function slotProblems({ key, fixed }, parameter) {
  if (!parameter) return [`there is no parameter {${key}}`];
  const { type, said, enum: members } = parameter;
  if (fixed === undefined) {
    const mute = type === 'boolean' && !(said?.true?.length > 0 && said?.false?.length > 0);
    return mute ? [`{${key}} has no wording; give it a value, {${key}=true}`] : [];
  }
  const fits =
    type === 'boolean'
      ? fixed === 'true' || fixed === 'false'
      : members
        ? members.map(String).includes(fixed)
        : (type !== 'integer' && type !== 'number') || Number.isFinite(Number(fixed));
  return fits ? [] : [`{${key}=${fixed}} is no value of {${key}}`];
}

// User messages have no placeholders; answers of a character may contain its name.
const talkProblems = (intents, known) =>
  intents.flatMap(({ asked, answer }) => [...asked.flatMap(unfilled(none)), ...unfilled(known)(answer)]);

const characterProblems = ({ prompts, unsure = {}, talk }) => [
  ...prompts.flatMap(unfilled(named)),
  ...Object.values(unsure).flatMap(unfilled(none)),
  ...talkProblems(talk, named),
];

const none = new Set();
const named = new Set(['name']);
const unfilled = (known) => (text) => placeholderProblems(text, known, (name) => `nothing fills {${name}}`);

// Problems of a text with placeholders in braces.
function placeholderProblems(text, known, stranger) {
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const faults = names.filter((name) => !known.has(name)).map(stranger);
  if (/[{}]/.test(text.replaceAll(/\{\w+\}/g, ''))) faults.push(unpairedBracket);
  return faults.map(of(text));
}
