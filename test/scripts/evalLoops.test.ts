import { describe, expect, it } from 'vitest';
import { readHouse, readHouseItems } from '../../scripts/evals/guidelines/items.mjs';
import { readJson, readJsonLines } from '../../scripts/evals/readJson.mjs';
import {
  judgeResult,
  mentions,
  type ResultAnswer,
  type ResultOutcome,
} from '../../scripts/evals/tools/judgeResult.mjs';
import { readItems } from '../../scripts/evals/tools/items.mjs';
import { readResultItems, type ResultItem } from '../../scripts/evals/tools/resultItems.mjs';
import { readControls, readTwoTurnItems } from '../../scripts/evals/twoTurnLoop/items.mjs';
import { findCallProblems, toTool } from '../helpers/evalItems.ts';

const results = await readResultItems();
const twoTurns = await readTwoTurnItems();
const controls = await readControls();
const house = await readHouse();
const houseItems = await readHouseItems();
const inEvals = (path: string) => new URL(`../../scripts/evals/${path}`, import.meta.url);

const textOf = ({ result }: ResultItem): string => (typeof result === 'string' ? result : JSON.stringify(result));
const isShort = ({ result }: ResultItem): boolean => typeof result === 'string' && result.split(' ').length <= 6;

describe('the items with results', () => {
  it('are 40 or more, about two thirds of them short', () => {
    expect(results.length).toBeGreaterThanOrEqual(40);
    expect(results.filter(isShort).length / results.length).toBeCloseTo(2 / 3, 1);
    expect(results.filter(({ ok }) => ok === false).length).toBeGreaterThanOrEqual(5);
  });

  it('expect the call of their first tool, with valid arguments', () => {
    const faults = results.flatMap(({ id, tools, call }) =>
      findCallProblems(call, tools.slice(0, 1).map(toTool)).map((fault) => `${id}: ${fault}`),
    );
    expect(faults).toEqual([]);
    for (const { tools } of results) tools.map(toTool);
  });

  it('accept words that the result has, and that nothing before it has', () => {
    const faults = results.flatMap((item) => {
      const before = JSON.stringify([item.message, item.tools, item.call]);
      const [first = ''] = item.accepted;
      return [
        ...(mentions(textOf(item), first) ? [] : [`${item.id}: the result has no "${first}"`]),
        ...item.accepted.filter((words) => mentions(before, words)).map((words) => `${item.id}: "${words}" is known`),
      ];
    });
    expect(faults).toEqual([]);
  });
});

describe('the conversations of the two-turn loop', () => {
  it('are 30, with 10 controls', () => {
    expect([twoTurns.length, controls.length]).toEqual([30, 10]);
  });

  it('expect valid calls', () => {
    const faults = [...twoTurns, ...controls].flatMap(({ id, tools, call, nextCall }) =>
      [call, ...(nextCall ? [nextCall] : [])]
        .flatMap((one) => findCallProblems(one, tools.map(toTool)))
        .map((fault) => `${id}: ${fault}`),
    );
    expect(faults).toEqual([]);
    expect(twoTurns.filter(({ nextCall }) => nextCall)).toEqual([]);
    expect(controls.filter(({ nextCall }) => !nextCall)).toEqual([]);
  });

  it('tell the result in parentheses before the next message', () => {
    expect([...twoTurns, ...controls].filter(({ told }) => !/^\([^()]+\.\)$/.test(told))).toEqual([]);
  });
});

describe('the house with guidelines', () => {
  it('has 12 tools, each behind one of 4 guidelines', () => {
    const names = house.tools.map((tool) => toTool(tool).name);
    expect([names.length, house.guidelines.length]).toEqual([12, 4]);
    expect(house.guidelines.flatMap(({ tools }) => tools).sort()).toEqual(names.toSorted());
  });

  it('has 40 messages that expect valid calls of their guideline', () => {
    expect(houseItems.length).toBe(40);
    const faults = houseItems.flatMap(({ id, guideline, calls }) => {
      const tools = house.guidelines.find(({ name }) => name === guideline)?.tools ?? [];
      const offered = house.tools.filter(({ name }) => tools.includes(name)).map(toTool);
      const missing = calls.length > 0 === (guideline !== null) ? [] : [`${id}: a guideline goes with a call`];
      return [
        ...missing,
        ...calls.flatMap((call) => findCallProblems(call, offered)).map((fault) => `${id}: ${fault}`),
      ];
    });
    expect(faults).toEqual([]);
  });
});

describe('the messages to route', () => {
  it('are 20 for each of three labels', async () => {
    const labels: { readonly name: string }[] = await readJson(inEvals('route/labels.json'));
    const messages: { readonly label: string }[] = await readJsonLines(inEvals('route/items.jsonl'));
    const counts = labels.map(({ name }) => messages.filter(({ label }) => label === name).length);
    expect(counts).toEqual([20, 20, 20]);
    expect(messages.length).toBe(60);
  });
});

describe('all evaluations', () => {
  it('have tools of names that no other item has, and unique ids and messages', async () => {
    const others = new Set((await readItems()).flatMap(({ tools }) => tools.map(({ name }) => name)));
    const own = [...results, ...twoTurns].flatMap(({ tools }) => tools.map(({ name }) => name));
    const names = [...own, ...house.tools.map(({ name }) => name)];
    expect(names.filter((name, index) => others.has(name) || names.indexOf(name) !== index)).toEqual([]);
    const ids = [...results, ...twoTurns, ...controls, ...houseItems].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const routed: { readonly message: string }[] = await readJsonLines(inEvals('route/items.jsonl'));
    const messages = [...results, ...twoTurns, ...houseItems, ...routed].map(({ message }) => message);
    expect(new Set(messages).size).toBe(messages.length);
  });
});

describe('an answer to a message whose call has a result', () => {
  const answer: ResultAnswer = { calls: [{ name: 'lamp', arguments: {} }], unread: 0, repeated: 0, text: '' };
  const again = [...answer.calls, ...answer.calls];

  it.each<[string, ResultOutcome, Partial<ResultAnswer>]>([
    ['that has an accepted word', 'used', { text: 'It is GRUMPY today.' }],
    ['that has a number', 'used', { text: 'There are 14.' }],
    ['that repeats its call and then has the word', 'used', { text: 'Grumpy.', repeated: 1 }],
    ['that has a part of a word', 'ignored', { text: 'It is grumpyish.' }],
    ['that has another number', 'ignored', { text: 'There are 14.5 or 2:14 or 1,14 or 140.' }],
    ['that has nothing of it', 'ignored', { text: 'Sorry.' }],
    ['that does not end', 'endless', { text: 'It is grumpy, it is grumpy, it is', endless: true }],
    ['that is empty after the same call', 'repeated', { repeated: 2 }],
    ['after another call', 'calledAgain', { text: 'It is grumpy.', calls: again }],
    ['after a call that could not be read', 'calledAgain', { text: 'It is grumpy.', unread: 1 }],
    ['without any call', 'notCalled', { text: 'It is grumpy.', calls: [] }],
  ])('%s is scored as %s', (_, outcome, parts) => {
    expect(judgeResult({ accepted: ['grumpy', '14'] }, { ...answer, ...parts })).toBe(outcome);
  });
});
