import { describe, expect, it } from 'vitest';
import { createRetriever } from '../../../../src/graph/retrieval/retriever.ts';
import { isSingleEdit } from '../../../../src/graph/retrieval/words/termDictionary.ts';
import { piecesOf, splitWords } from '../../../../src/graph/retrieval/words/splitWords.ts';
import { wordIndexOf } from '../../../../src/graph/retrieval/words/wordIndex.ts';
import { createKnowledge, createList, type StringStorage } from '../../../../src/graph/storage/stringStorage.ts';

const find = async (storage: StringStorage, query: string, topK = 10): Promise<readonly string[]> => {
  const { hits } = await createRetriever(storage).search({
    query,
    match: 'words',
    topK,
    minSimilarity: 0,
    filter: undefined,
    variables: {},
  });
  return hits.map(({ id }) => id);
};

describe('matching by words', () => {
  const lines = createList([
    'The harbour master counts the ships at dawn.',
    'Wolves were hunted by two huntresses in the café of Ysolde.',
    'An old bridge crosses the river where the ferryman lives.',
    'Grandmother bakes bread and sells it on the market.',
    'The library has a thousand books about volcanoes.',
  ]);

  it.each([
    ['another case', 'HARBOUR', '0'],
    ['diacritics that the query lacks', 'a cafe', '1'],
    ['diacritics that the text lacks', 'the hárbour', '0'],
    ['full width', 'ｈａｒｂｏｕｒ', '0'],
    ['a soft hyphen', 'har\u00adbour', '0'],
    ['zero-width characters', 'fer\u200bry\u2060man', '2'],
    ['no-break spaces', 'the\u00a0harbour\u202fmaster', '0'],
    ['the singular', 'a wolf', '1'],
    ['the plural', 'bridges', '2'],
    ['another tense', 'who is crossing it', '2'],
    ['the past', 'baked', '3'],
    ['a prefix', 'volcan', '4'],
    ['a word that goes on', 'ferry', '2'],
    ['a letter too many', 'harrbour', '0'],
    ['a letter too few', 'librry', '4'],
    ['a wrong letter', 'liprary', '4'],
    ['two letters swapped', 'brigde', '2'],
    ['two wrong letters of a long word', 'gramdmothar', '3'],
    ['a first letter that is swapped', 'rbidge', '2'],
  ])('finds %s: %s', async (_, query, id) => {
    expect(await find(lines, query)).toEqual([id]);
  });

  it.each(['what is the who of it?', 'the and of', '', '?!', 'xylophone', 'cat'])(
    'finds nothing for "%s"',
    async (query) => {
      expect(await find(lines, query)).toEqual([]);
    },
  );

  it('counts words that most texts have for nothing', async () => {
    const towns = createList(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `the town ${name}${name} lies there`));
    expect(await find(towns, 'the town')).toEqual([]);
    expect(await find(towns, 'the town cc')).toEqual(['2']);
  });

  it('puts rare words before frequent ones, and of equal scores the first entry', async () => {
    const texts = createList(['red apple', 'red pear', 'red plum', 'green pear', 'green apple tree', 'blue sky']);
    expect((await find(texts, 'a red plum')).at(0)).toBe('2');
    expect(await find(texts, 'pear')).toEqual(['1', '3']);
    expect(await find(texts, 'pear', 1)).toEqual(['1']);
  });

  it('finds nothing when few of the words of a question are there, and none of them is sure', async () => {
    const texts = createList(['the ghost walks', 'the road ends', 'the moon rises']);
    expect(await find(texts, 'gost')).toEqual(['0']);
    expect(await find(texts, 'gost football airplane computer')).toEqual([]);
  });

  it('takes a number that is not quite the same for another one', async () => {
    const texts = createList(['The tower was built in 1234.', 'Call 5550172 for the ferry.', 'The Mk2 lamp is here.']);
    expect(await find(texts, 'in 1234')).toEqual(['0']);
    expect(await find(texts, '５５５０１７２')).toEqual(['1']);
    expect(await find(texts, 'the mk2 lanp')).toEqual(['2']);
    for (const query of ['in 1235', '12345', '123', '5550173', '55501', '5550172000'])
      expect(await find(texts, query), query).toEqual([]);
  });

  it('finds words of scripts without spaces', async () => {
    const texts = createList(['城の門は夜に閉まる', '港で魚を売る商人', 'กำแพงเมืองสูงมาก']);
    expect(await find(texts, '魚を売る人はどこ')).toEqual(['1']);
    expect(await find(texts, 'กำแพงเมือง')).toEqual(['2']);
  });

  it('finds words of one character, and Korean words with other endings', async () => {
    const texts = createList([
      '一只黑猫睡在桥上。',
      '图书馆',
      '대장장이가 칼을 갈아 준다.',
      '용은 화산 아래에서 잔다.',
      '谁',
    ]);
    expect(await find(texts, '猫')).toEqual(['0']);
    expect(await find(texts, '馆？')).toEqual(['1']);
    expect(await find(texts, '대장장이는 어디에 있나요')).toEqual(['2']);
    expect(await find(texts, '용')).toEqual(['3']);
    expect(await find(texts, '足球比赛')).toEqual([]);
    const entry = { id: 'sword', text: 'x', metadata: {}, keys: ['剑', 'blade'], always: false };
    const storage = createKnowledge({ entries: [entry], fields: undefined, embeddingModel: undefined, bytes: 0 });
    expect(await find(storage, '剑在哪里？')).toEqual(['sword']);
  });

  it('finds words of other alphabets', async () => {
    const texts = createList(['Кузнец точит клинки.', 'Der Schmied schärft Klingen für Würfel.', 'Ο σιδεράς ζει εδώ']);
    expect(await find(texts, 'кузнец')).toEqual(['0']);
    expect(await find(texts, 'Wurfel')).toEqual(['1']);
    expect(await find(texts, 'σιδερας')).toEqual(['2']);
  });
});

describe('a hostile storage', () => {
  it('with words of thousands of letters has them compared by their first forty letters only', async () => {
    const word = `${'stone'.repeat(8)}${'x'.repeat(15_000)}`;
    const texts = createList([word]);
    expect(await find(texts, word.replace(/x$/, 'y'))).toEqual(['0']);
    expect(await find(texts, word.replace('o', 'oqq'))).toEqual([]);
  });

  it('with too many different words is refused', async () => {
    const words = (entry: number): string =>
      Array.from({ length: 50_000 }, (_, index) => `w${(entry * 50_000 + index).toString(36)}`).join(' ');
    const texts = [...Array.from({ length: 10 }, (_, entry) => words(entry)), 'zzzzzz'];
    await expect(find(createList(texts), 'x')).rejects.toMatchObject({
      name: 'LIMIT_EXCEEDED',
      message: expect.stringMatching(/more than 500000 different words/) as string,
    });
  });

  it('with a key of thousands of words is searched, and one that a query repeats brings its entry once', async () => {
    const entry = { id: 'a', text: 'x', metadata: {}, keys: ['b '.repeat(5000), 'c'], always: false };
    const storage = createKnowledge({ entries: [entry], fields: undefined, embeddingModel: undefined, bytes: 0 });
    expect(await find(storage, 'b c b b')).toEqual(['a']);
    expect(await find(storage, 'b b b')).toEqual([]);
    expect(await find(storage, 'b '.repeat(20))).toEqual(['a']);
    expect(await find(storage, 'b c '.repeat(10_000))).toEqual(['a']);
  });
});

describe('many searches at once', () => {
  const searched = createList(['a mill', 'a mill and a ferry', 'a ferry']);
  // Each takes longer than the event loop may be held.
  const slowSearches = (names: string): readonly Promise<string>[] =>
    [...names].map(async (name) => {
      const visit = (): boolean => {
        visits.push(name);
        const end = performance.now() + 12;
        while (performance.now() < end);
        return true;
      };
      const { words } = await wordIndexOf(searched);
      await words.run({ query: 'mill ferry', topK: 3, isEligible: visit, signal: undefined });
      return name;
    });
  const visits: string[] = [];

  it('run one after another, and let the event loop run in between', async () => {
    let rounds = 0;
    let isDone = false;
    const count = (): void => {
      rounds++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(slowSearches('abcdef'));
    isDone = true;
    expect(visits.join('')).toBe('aaabbbcccdddeeefff');
    expect(rounds).toBeGreaterThanOrEqual(5);
  });
});

it('splits a long text in pieces that are its words', () => {
  const text = Array.from({ length: 9000 }, (_, index) => `wörd${index}`).join(' ');
  const pieces = [...piecesOf(text)];
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.join('')).toBe(text);
  expect(pieces.flatMap(splitWords)).toEqual(splitWords(text));
  expect([...piecesOf('x'.repeat(100_000))].join('')).toHaveLength(100_000);
});

it.each([
  ['ghost', 'gost', true],
  ['ghost', 'ghosts', true],
  ['ghost', 'ghoat', true],
  ['ghost', 'gohst', true],
  ['ghost', 'hgost', true],
  ['ghost', 'ghost', false],
  ['ghost', 'ghoaa', false],
  ['ghost', 'gots', false],
  ['abcd', 'acbe', false],
  ['ab', 'ba', true],
])('one edit makes %s of %s: %s', (one, other, expected) => {
  expect([isSingleEdit(one, other), isSingleEdit(other, one)]).toEqual([expected, expected]);
});
