import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { idsOf, loreOf, searchLore } from '../../../helpers/loreSearch.ts';
import { repositoryPath } from '../../../helpers/server.ts';

type Rows = readonly (readonly [key: string, sentence: string])[];

const { fires, does_not_fire: silent } = JSON.parse(
  await readFile(repositoryPath('test/fixtures/loreKeys.json'), 'utf8'),
) as Readonly<Record<'fires' | 'does_not_fire', Rows>>;

/** The rows whose key brings its entry. The text has no word of the sentences. */
async function firing(rows: Rows): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [key, sentence] of rows) {
    const lore = await loreOf([{ id: 'a', text: 'Zzyzx.', keys: [key] }]);
    if ((await searchLore(lore, sentence)).found) found.push(`${key} | ${sentence}`);
  }
  return found;
}

describe('the keys of two hundred rows', () => {
  it('fire on the words that they are, in any case and number, for at least 98 of 100', async () => {
    const found = new Set(await firing(fires));
    const missed = fires.map(([key, sentence]) => `${key} | ${sentence}`).filter((row) => !found.has(row));
    expect(fires).toHaveLength(100);
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(2);
  });

  it('never fire on other words', async () => {
    expect(silent).toHaveLength(100);
    expect(await firing(silent)).toEqual([]);
  });
});

describe('a key', () => {
  it('does not displace the right entry', async () => {
    const lore = await loreOf([
      { id: 'ares', text: 'The war god broods.', keys: ['Ares'] },
      { id: 'inn', text: 'A bed costs four coppers.', keys: ['inn'] },
    ]);
    expect(await idsOf(lore, 'How are you? Is there an inn?', { topK: 1 })).toEqual(['inn']);
  });

  it.each([
    ['/dragons?\\b/i', 'Two DRAGONS.', true],
    ['/dragons?\\b/i', 'A dragonfly.', false],
    ['/(?:^|[^а-яА-ЯёЁ])Кент(?:а|ой|у)?/g', 'Где Кент?', true],
    ['/\\bel(f|ves)\\b/i', 'Elves!', true],
    ['/\\bel(f|ves)\\b/i', 'myself', false],
    ['/Kent/', 'kent', false],
    ['/Kent/gu', 'Mr Kent.', true],
    ['/^so\\b/m', 'well\nso be it', true],
    ['/^so\\b/', 'well\nso be it', false],
    ['/a.b/s', 'a\nb', true],
    ['/\\u0416/', 'Ж', true],
    ['/a\\/b/', 'a/b', true],
    ['/home/user', 'home user', false],
    ['/home/user', 'look into /home/user now', true],
    ['/usr/share/', '/usr/share/', true],
  ])('%s on %j fires: %s', async (key, sentence, expected) => {
    const lore = await loreOf([{ id: 'a', text: 'Zzyzx.', keys: [key, 'xylophone'] }]);
    expect((await searchLore(lore, sentence)).found).toBe(expected);
  });

  it('of a hundred patterns fires beside the others', async () => {
    const entries = Array.from({ length: 100 }, (_, index) => ({
      id: `e${index}`,
      text: 'Zzyzx.',
      keys: [`/\\bw${index}\\b/`],
    }));
    const lore = await loreOf(entries);
    expect(new Set(await idsOf(lore, 'w99, w0 and w50', { topK: 10 }))).toEqual(new Set(['e99', 'e0', 'e50']));
  });

  it.each([
    ['/(?<=a)b/', 'lookaround'],
    ['/(a)\\1/i', 'backreferences'],
    ['/(/', 'missing closing )'],
    ["/(?=$&)$'/", "backreferences): /(?=$&)$'/: invalid"],
    ['/(?:a{1000}){1000}/', 'too large'],
  ])('that RE2 does not have, %s, is refused at its place', async (key, reason) => {
    await expect(loreOf([{ id: 'a', text: 'A', keys: ['x', key] }])).rejects.toMatchObject({
      name: 'INVALID_STRING_STORAGE_DATA',
      message: expect.stringMatching(/^lore\.kb\.json, 1:\d+: \[0\]\.keys\[1\] is /) as string,
    });
    await expect(loreOf([{ id: 'a', text: 'A', keys: ['x', key] }])).rejects.toThrow(reason);
  });

  it('is searched for in long texts without holding the event loop, and in time that grows with their length', async () => {
    const keys = ['★ ★', `${'ab '.repeat(15)}c`, '/(?:a|b)*c/', 'aaaaaaaa'];
    const lore = await loreOf({ entries: [{ content: 'Zzyzx.', keys, matchWholeWords: false }] });
    let rounds = 0;
    let isDone = false;
    const count = (): void => {
      rounds++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    for (const text of ['ab '.repeat(40_000), '★ '.repeat(60_000), 'a'.repeat(7).repeat(15_000)])
      await searchLore(lore, text);
    isDone = true;
    expect(rounds).toBeGreaterThan(3);
  });
});
