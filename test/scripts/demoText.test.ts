import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCatalogue, type Action, type Catalogue } from '../../scripts/demo-model/generate/catalogue.mjs';
import { documentsFrom } from '../../scripts/demo-model/generate/documents.mjs';
import { findProblems } from '../../scripts/demo-model/generate/validateText.mjs';
import { parseRequest, type RequestPart } from '../../scripts/demo-model/generate/requests.mjs';
import { hardMix } from '../../scripts/demo-model/generate/lessonMix.mjs';
import { readHeldOut, type HeldOutItem } from '../../scripts/evals/heldOut.mjs';
import { readTwoTurnItems } from '../../scripts/evals/twoTurnLoop/items.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { repositoryPath } from '../helpers/server.ts';

const catalogue = readCatalogue();

describe('the hand-written text for the demo model', () => {
  it('has no problem', () => {
    expect(findProblems(catalogue)).toEqual([]);
  });

  const door: Action = {
    action: 'door',
    topic: 'home',
    names: ['open_door', 'door'],
    descriptions: ['Opens a door.', 'Door control.', 'Moves a door.'],
    parameters: {
      door: { names: ['door'], type: 'string', values: ['front', 'back'] },
      open: { names: ['open'], type: 'boolean' },
      speed: { names: ['speed'], type: 'integer', values: { from: 1, to: 9 }, optional: true },
    },
    requests: ['{open=true}open the {door} door[ at {speed}]'],
  };
  const values = { room: ['hall'] };
  const count = { names: ['count'], type: 'integer' };

  it.each<[string, Partial<Action>, string]>([
    ['an unknown slot', { requests: ['{open=true}the {gate} and the {door}'] }, 'there is no parameter {gate}'],
    ['a missing required slot', { requests: ['{open=true}let me in'] }, 'it leaves {door} open, which is not optional'],
    ['a value of another type', { requests: ['{open=wide}the {door}'] }, '{open=wide} is no value of {open}'],
    ['a boolean without words', { requests: ['{door} {open}'] }, '{open} has no wording; give it a value'],
    [
      'nested optional segments',
      { requests: ['{open=true}{door}[ at [{speed}]]'] },
      'optional segments cannot be nested',
    ],
    ['an optional segment without an end', { requests: ['{open=true}{door}[ at {speed}'] }, 'an unpaired bracket'],
    ['an optional segment without a beginning', { requests: ['{open=true}{door} at {speed}]'] }, 'an unpaired bracket'],
    ['a slot without an end', { requests: ['{open=true}{door}, {speed'] }, 'an unpaired bracket'],
    ['a slot without a beginning', { requests: ['{open=true}{door}, speed}'] }, 'an unpaired bracket'],
    ['an unknown pool', { parameters: { door: { names: ['door'], type: 'string', values: 'rooms' } } }, 'called rooms'],
    ['numbers without a range', { parameters: { count } }, '{ "from", "to" }'],
    ['numbers without a first one', { parameters: { count: { ...count, values: { to: 9 } } } }, '{ "from", "to" }'],
    ['too few names', { names: ['door'] }, 'it needs two names or more'],
  ])('is rejected with the location of %s', (_, changes, fault) => {
    const [first] = findProblems({ actions: [{ ...door, requests: [], ...changes }], values });
    expect(first).toContain('home.json, door');
    expect(first).toContain(fault);
  });

  it('is rejected when two actions have the same name', () => {
    expect(findProblems({ actions: [door, { ...door, topic: 'castle' }], values })).toEqual([
      'castle.json, door: another action has this name',
    ]);
  });

  const lamp = { who: 'lamp', names: ['Glim'], prompts: ['You are {name}.'], talk: [] };

  it.each<[string, Pick<Partial<Catalogue>, 'chat' | 'asides'>, string]>([
    [
      'an unknown pool in an aside',
      { asides: { remarks: ['the {room} is {colour}'] } },
      'asides.json, remarks, "the {room} is {colour}": no pool of values.json is called colour',
    ],
    [
      'an unclosed slot in an aside',
      { asides: { refusals: ['not the {room'] } },
      'asides.json, refusals, "not the {room": an unpaired bracket',
    ],
    [
      'a slot in small talk, which is never filled',
      { chat: { talk: [{ asked: ['how is the {room}'], answer: 'Fine.' }], characters: [] } },
      'chat.json, talk, "how is the {room}": nothing fills {room}',
    ],
    [
      'a slot in a message to a character',
      { chat: { talk: [], characters: [{ ...lamp, talk: [{ asked: ['hi {name}'], answer: 'I am {name}.' }] }] } },
      'chat.json, lamp, "hi {name}": nothing fills {name}',
    ],
  ])('is rejected with the location of %s', (_, parts, fault) => {
    expect(findProblems({ actions: [], values, ...parts })).toEqual([fault]);
  });
});

describe('the generated training text', () => {
  const { toolDocument } = documentsFrom(catalogue, createRng(1));

  it('copies argument values exactly from the start of a message', () => {
    const documents = Array.from({ length: 400 }, () => toolDocument(hardMix));
    const inexact = documents.flatMap(({ declarations, branches }) => {
      // A parameter with an enum is not copied.
      const isCopied = (name: string) =>
        declarations.some(({ parameters }) => parameters.some((ownWords) => ownWords.name === name && !ownWords.enum));
      return branches.flatMap(({ turns: [first], calls }) =>
        calls
          .flatMap((call) => Object.entries(call.arguments).flatMap(([name, value]) => (isCopied(name) ? [value] : [])))
          .filter((value) => typeof value === 'string')
          .filter((value) => first?.said.text.toLowerCase().startsWith(value.toLowerCase()))
          .filter((value) => !first?.said.text.startsWith(value))
          .map((value) => `${value}: ${first?.said.text}`),
      );
    });
    expect(inexact).toEqual([]);
  });
});

describe('the held-out items of the demo model', async () => {
  const heldOut = (name: string): HeldOutItem[] =>
    JSON.parse(readFileSync(repositoryPath(`scripts/demo-model/heldout/${name}.json`), 'utf8'));
  const everyday = [...heldOut('everyday'), ...(await readHeldOut())];

  it('have messages that are not in the training text', () => {
    const isInText = createMatcher(linesOf(catalogue));
    const known = [...everyday, ...heldOut('shipped')].filter(({ message }) => isInText(message));
    expect(known.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
  });

  it('have results in the next message that are not in the training text', async () => {
    const { reports } = catalogue;
    const comments = new Set(reports.comments.map(normalize));
    const told = (await readTwoTurnItems()).map((item) => ({ ...item, words: normalize(item.told) }));
    expect(told.filter(({ next }) => comments.has(normalize(next))).map(({ next }) => next)).toEqual([]);
    // One short word may be both.
    const same = told.filter(({ words }) =>
      reports.predicates.some((text) => text.includes(' ') && words.endsWith(` ${text}`)),
    );
    expect(same.map(({ id, words }) => `${id}: ${words}`)).toEqual([]);
  });

  it('have tools whose names are not in the training text, apart from those of the bundled graphs', () => {
    const bare = (name: string) => name.replaceAll('_', '').toLowerCase();
    const used = new Set(catalogue.actions.flatMap(({ names }) => names.map(bare)));
    const ownWords = namesInGraphs();
    const tools = new Set(everyday.flatMap((item) => item.tools.map(({ name }) => name)));
    expect([...tools].filter((name) => !ownWords.has(name) && used.has(bare(name)))).toEqual([]);
  });
});

/** All message templates of the training text. */
function linesOf({ actions, chat, asides, results, reports }: Catalogue): string[] {
  const talk = [...chat.talk, ...chat.characters.flatMap((character) => character.talk)];
  return [
    ...actions.flatMap(({ requests }) => requests),
    ...talk.flatMap(({ asked }) => asked),
    ...Object.values(asides).flat(),
    ...results.fields.flatMap(({ keys, asked = [] }) => [...asked, ...keys.flatMap((key) => asksFor(results, key))]),
    ...reports.statements,
  ];
}

const asksFor = ({ asks }: Catalogue['results'], key: string) =>
  asks.map((ask) => ask.replace('{key}', key.replaceAll('_', ' ')));

const slot = '_';
const normalize = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^(?:please|can you|could you|would you) | (?:please|for me|now)$/g, '');

/**
 * Creates a matcher that reports whether a message fits one of the templates. Case, punctuation and polite words are
 * ignored, optional parts may be absent, and a slot matches up to four words, as long as two words and half of the
 * message are those of the template.
 */
function createMatcher(lines: readonly string[]): (message: string) => boolean {
  const variants = new Set(lines.flatMap((line) => expandTemplate(parseRequest(line))).map(normalize));
  const withSlots = [...variants].flatMap((variant) => {
    const ownWords = variant.split(/[ _]+/).filter(Boolean).length;
    const [prefix = '', ...rest] = variant.split(slot);
    const suffix = rest.at(-1);
    return ownWords < 2 || suffix === undefined ? [] : [{ ownWords, variant, prefix, suffix }];
  });
  return (message) => {
    const normalized = normalize(message);
    const words = normalized.split(' ').length;
    const fits = ({ ownWords, variant, prefix, suffix }: (typeof withSlots)[number]) =>
      ownWords * 2 >= words &&
      normalized.startsWith(prefix) &&
      normalized.endsWith(suffix) &&
      patternOf(variant).test(normalized);
    return variants.has(normalized) || withSlots.some(fits);
  };
}

const patternOf = (variant: string) => new RegExp(`^${variant.replaceAll(slot, '\\S+(?: \\S+){0,3}')}$`);

/** All variants of a template, with `slot` for each slot. */
function expandTemplate(parts: readonly RequestPart[]): string[] {
  return parts.reduce<string[]>(
    (texts, { text, fixed, option }) =>
      texts.flatMap((prefix) =>
        option
          ? [prefix, ...expandTemplate(option).map((more) => prefix + more)]
          : [prefix + (text ?? (fixed === undefined ? slot : ''))],
      ),
    [''],
  );
}

/** Names of the tools in the bundled graphs. */
function namesInGraphs(): Set<string> {
  const names = new Set<string>();
  for (const file of readdirSync(repositoryPath('graphs')).filter((name) => name.endsWith('.json'))) {
    JSON.parse(readFileSync(repositoryPath(`graphs/${file}`), 'utf8'), (key, value) => {
      if (key === 'tools' && Array.isArray(value)) for (const { name } of value) names.add(name);
      return value;
    });
  }
  return names;
}
