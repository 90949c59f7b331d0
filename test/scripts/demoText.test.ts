import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readCatalogue, type Action, type Catalogue } from '../../scripts/demo-model/generate/catalogue.mjs';
import { documentsFrom } from '../../scripts/demo-model/generate/documents.mjs';
import { findProblems } from '../../scripts/demo-model/generate/validateText.mjs';
import { parseRequest, type RequestPart } from '../../scripts/demo-model/generate/requests.mjs';
import { hardMix } from '../../scripts/demo-model/generate/lessonMix.mjs';
import { readItems, type Item } from '../../scripts/evals/tools/items.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { repositoryPath } from '../helpers/server.ts';

const catalogue = readCatalogue();

describe('the text that people wrote for the demo model', () => {
  it('has no fault', () => {
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
    ['a slot left open', { requests: ['{open=true}let me in'] }, 'it leaves {door} open, which is not optional'],
    ['a value of another type', { requests: ['{open=wide}the {door}'] }, '{open=wide} is no value of {open}'],
    ['a boolean without words', { requests: ['{door} {open}'] }, '{open} has no wording; give it a value'],
    [
      'stretches in each other',
      { requests: ['{open=true}{door}[ at [{speed}]]'] },
      'optional segments cannot be nested',
    ],
    ['a stretch without an end', { requests: ['{open=true}{door}[ at {speed}'] }, 'an unpaired bracket'],
    ['a stretch without a beginning', { requests: ['{open=true}{door} at {speed}]'] }, 'an unpaired bracket'],
    ['a slot without an end', { requests: ['{open=true}{door}, {speed'] }, 'an unpaired bracket'],
    ['a slot without a beginning', { requests: ['{open=true}{door}, speed}'] }, 'an unpaired bracket'],
    ['an unknown pool', { parameters: { door: { names: ['door'], type: 'string', values: 'rooms' } } }, 'called rooms'],
    ['numbers without a range', { parameters: { count } }, '{ "from", "to" }'],
    ['numbers without a first one', { parameters: { count: { ...count, values: { to: 9 } } } }, '{ "from", "to" }'],
    ['a name too few', { names: ['door'] }, 'it needs two names or more'],
  ])('is refused with the place of %s', (_, changes, fault) => {
    const [first] = findProblems({ actions: [{ ...door, requests: [], ...changes }], values });
    expect(first).toContain('home.json, door');
    expect(first).toContain(fault);
  });

  it('is refused where two actions are called the same', () => {
    expect(findProblems({ actions: [door, { ...door, topic: 'castle' }], values })).toEqual([
      'castle.json, door: another action has this name',
    ]);
  });

  const lamp = { who: 'lamp', names: ['Glim'], prompts: ['You are {name}.'], talk: [] };

  it.each<[string, Pick<Partial<Catalogue>, 'chat' | 'asides'>, string]>([
    [
      'a pool that an aside names and nobody has',
      { asides: { remarks: ['the {room} is {colour}'] } },
      'asides.json, remarks, "the {room} is {colour}": no pool of values.json is called colour',
    ],
    [
      'a slot that is left open in an aside',
      { asides: { refusals: ['not the {room'] } },
      'asides.json, refusals, "not the {room": an unpaired bracket',
    ],
    [
      'a slot in small talk, which nothing fills',
      { chat: { talk: [{ asked: ['how is the {room}'], answer: 'Fine.' }], characters: [] } },
      'chat.json, talk, "how is the {room}": nothing fills {room}',
    ],
    [
      'a slot in what is said to a character',
      { chat: { talk: [], characters: [{ ...lamp, talk: [{ asked: ['hi {name}'], answer: 'I am {name}.' }] }] } },
      'chat.json, lamp, "hi {name}": nothing fills {name}',
    ],
  ])('is refused with the place of %s', (_, parts, fault) => {
    expect(findProblems({ actions: [], values, ...parts })).toEqual([fault]);
  });
});

describe('the text that is made of it', () => {
  const { toolDocument } = documentsFrom(catalogue, createRng(1));

  it('has at the beginning of a message what is copied into its calls, letter for letter', () => {
    const documents = Array.from({ length: 400 }, () => toolDocument(hardMix));
    const torn = documents.flatMap(({ declarations, branches }) => {
      // What is one of a few values is not copied.
      const isCopied = (name: string) =>
        declarations.some(({ parameters }) => parameters.some((own) => own.name === name && !own.enum));
      return branches.flatMap(({ turns: [first], calls }) =>
        calls
          .flatMap((call) => Object.entries(call.arguments).flatMap(([name, value]) => (isCopied(name) ? [value] : [])))
          .filter((value) => typeof value === 'string')
          .filter((value) => first?.said.text.toLowerCase().startsWith(value.toLowerCase()))
          .filter((value) => !first?.said.text.startsWith(value))
          .map((value) => `${value}: ${first?.said.text}`),
      );
    });
    expect(torn).toEqual([]);
  });
});

describe('the items that the demo model is asked about', async () => {
  const heldOut = (name: string): Item[] =>
    JSON.parse(readFileSync(repositoryPath(`scripts/demo-model/heldout/${name}.json`), 'utf8'));
  const everyday = [...heldOut('everyday'), ...(await readItems())];

  it('are asked in words that the text has not', () => {
    const told = toldBy(linesOf(catalogue));
    const known = [...everyday, ...heldOut('shipped')].filter(({ message }) => told(message));
    expect(known.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
  });

  it('have tools that are called as no tool of the text, but for those of the shipped graphs', () => {
    const bare = (name: string) => name.replaceAll('_', '').toLowerCase();
    const used = new Set(catalogue.actions.flatMap(({ names }) => names.map(bare)));
    const own = namesInGraphs();
    const tools = new Set(everyday.flatMap((item) => item.tools.map(({ name }) => name)));
    expect([...tools].filter((name) => !own.has(name) && used.has(bare(name)))).toEqual([]);
  });
});

/** Everything that somebody may say in the text. */
function linesOf({ actions, chat, asides }: Catalogue): string[] {
  const talk = [...chat.talk, ...chat.characters.flatMap((character) => character.talk)];
  return [
    ...actions.flatMap(({ requests }) => requests),
    ...talk.flatMap(({ asked }) => asked),
    ...Object.values(asides).flat(),
  ];
}

const slot = '_';
const folded = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_]/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/^(?:please|can you|could you|would you) | (?:please|for me|now)$/g, '');

/**
 * Whether a message stands among lines: case, marks and a please away, optional stretches said or not, and any four words for
 * a slot, as long as two words and half of the message are the line's own.
 */
function toldBy(lines: readonly string[]): (message: string) => boolean {
  const forms = new Set(lines.flatMap((line) => spoken(parseRequest(line))).map(folded));
  const open = [...forms].flatMap((form) => {
    const own = form.split(/[ _]+/).filter(Boolean).length;
    const [before = '', ...rest] = form.split(slot);
    const behind = rest.at(-1);
    return own < 2 || behind === undefined ? [] : [{ own, form, before, behind }];
  });
  return (message) => {
    const said = folded(message);
    const words = said.split(' ').length;
    const fits = ({ own, form, before, behind }: (typeof open)[number]) =>
      own * 2 >= words && said.startsWith(before) && said.endsWith(behind) && patternOf(form).test(said);
    return forms.has(said) || open.some(fits);
  };
}

const patternOf = (form: string) => new RegExp(`^${form.replaceAll(slot, '\\S+(?: \\S+){0,3}')}$`);

/** The texts that a request can become, with a mark for each slot. */
function spoken(parts: readonly RequestPart[]): string[] {
  return parts.reduce<string[]>(
    (texts, { text, fixed, option }) =>
      texts.flatMap((before) =>
        option
          ? [before, ...spoken(option).map((more) => before + more)]
          : [before + (text ?? (fixed === undefined ? slot : ''))],
      ),
    [''],
  );
}

/** What the tools of the shipped graphs are called. */
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
