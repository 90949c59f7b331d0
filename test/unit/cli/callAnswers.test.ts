import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readResultsFile, type CallAnswer } from '../../../src/cli/callAnswers.ts';

let path = '';
beforeAll(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'turngraph-')), 'results.json');
});
afterAll(() => rm(join(path, '..'), { recursive: true }));

const read = async (content: unknown) => {
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return readResultsFile(path);
};

/** What a call of `find` gets from a file. */
async function answerOf(entries: readonly object[]): Promise<CallAnswer> {
  const call = { callId: 'a', turnId: 1, toolName: 'find', awaitsResult: true };
  const args = { who: { name: 'Ann', age: 7 }, rooms: ['hall', 'cellar'] };
  return (await read(entries)).answer({ ...call, arguments: args }, new AbortController().signal);
}

describe('a file of results', () => {
  it.each([
    ['a part of an object', { who: { name: 'Ann' } }, true],
    ['a list', { rooms: ['hall', 'cellar'], who: {} }, true],
    ['another value inside', { who: { age: 8 } }, false],
    ['a value of another type', { who: { age: '7' } }, false],
    ['a shorter list', { rooms: ['hall'] }, false],
    ['a list in place of an object', { who: [] }, false],
    ['an object in place of a list', { rooms: {} }, false],
    ['an argument that the call lacks', { when: 1 }, false],
    ['a name that every object has', { constructor: {} }, false],
  ])('matches arguments: %s', async (_, args, matches) => {
    const { result } = await answerOf([{ tool: 'find', arguments: args, content: 'found' }]);
    expect(result).toMatchObject(
      matches ? { ok: true, content: 'found' } : { ok: false, content: 'no result is known for this call of find' },
    );
  });

  it.each([
    ['no content', {}, 'ok'],
    ['an object', { content: { degrees: 18.5 } }, '{"degrees":18.5}'],
    ['a list', { content: [1, 'é'] }, '[1,"é"]'],
    ['null', { content: null }, 'null'],
    ['an empty text', { content: '' }, ''],
  ])('takes content of any kind: %s', async (_, fields, content) => {
    const answer = await answerOf([{ tool: 'other' }, { tool: 'find', ...fields }, { tool: 'find', content: 'later' }]);
    expect(answer).toEqual({ result: { ok: true, content, lifespan: 'TURN' } });
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['is no JSON', '[,]', /results\.json:1:2: is not valid JSON/],
    ['has a key twice', '[{"tool": "a", "tool": "b"}]', /results\.json:1:16: the key "tool" occurs twice/],
    ['is no list', {}, /results\.json:1:1: the list of results must be an array, not \{\}; write \[\{"tool"/],
    ['has no object', [3], /results\.json:1:2: entry 1 must be an object, not 3; write \{"tool"/],
    ['names no tool', [{ tool: 'f' }, {}], /results\.json:1:15: entry 2\.tool is missing/],
    ['has a typo', [{ tool: 'f', argument: {} }], /entry 1\.argument is not known here; did you mean "arguments"\?/],
    ['has a list of arguments', [{ tool: 'f', arguments: [] }], /entry 1\.arguments must be an object, not \[\]/],
    ['has another lifespan', [{ tool: 'f', lifespan: 'DAY' }], /entry 1\.lifespan must be one of .*TURN.*DIALOG/],
    ['has text for ok', [{ tool: 'f', ok: 'yes' }], /entry 1\.ok must be (?:a )?boolean, not "yes"/],
    [
      'has a long text',
      [{ tool: 'f', content: 'x'.repeat(262_145) }],
      /entry 1\.content has 262145 bytes, and 262144 are allowed; shorten it/,
    ],
    [
      'has half a character',
      '[{"tool": "f", "content": "a\\ud83d"}]',
      /results\.json:1:\d+: is not valid JSON: half of a surrogate pair, \\ud83d; write both halves/,
    ],
    ['nests deeply', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, /the list of results is nested too deeply/],
  ])('is refused when it %s', async (_, content, message) => {
    await expect(read(content)).rejects.toThrow(message);
  });

  it('is refused when it is not there', async () => {
    await expect(readResultsFile(join(path, '..', 'none.json'))).rejects.toThrow(
      /none\.json cannot be read: there is no such file/,
    );
  });
});
