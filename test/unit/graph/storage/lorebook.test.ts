import { describe, expect, it } from 'vitest';
import { pngWithText } from '../../../helpers/pngWithText.ts';
import { createRetriever } from '../../../../src/graph/retrieval/retriever.ts';
import type { InvalidEntries } from '../../../../src/graph/storage/invalidStorage.ts';
import { idsOf, loreOf, readLore } from '../../../helpers/loreSearch.ts';
import { expectLinearTime } from '../../../helpers/linearTime.ts';

/** A book whose entries are named by their ids; their texts have no word in common with a query. */
const book = (...entries: readonly Readonly<Record<string, unknown>>[]) => ({
  entries: entries.map((entry) => ({ content: 'Zzyzx.', ...entry })),
});

describe('the fields of a lorebook', () => {
  it.each([
    [0, ['one', 'all']],
    ['and any', ['none', 'one', 'all']],
    [3, ['all']],
    [2, ['none']],
    [1, ['none', 'one']],
  ])('selectiveLogic %s lets an entry come by its secondary keys', async (selectiveLogic, expected) => {
    const isSelective = typeof selectiveLogic === 'number';
    const lore = await loreOf(
      book({
        uid: 'a',
        key: ['dragon'],
        keysecondary: ['red', 'old'],
        selectiveLogic: isSelective ? selectiveLogic : 0,
        selective: isSelective,
      }),
    );
    const queries = { none: 'a dragon', one: 'a red dragon', all: 'an old red dragon' };
    const came: string[] = [];
    for (const [name, query] of Object.entries(queries)) if ((await idsOf(lore, query)).length > 0) came.push(name);
    expect(came).toEqual(expected);
    expect(await idsOf(lore, 'red and old')).toEqual([]);
  });

  it('do not let the words of an entry bring it that its secondary keys forbid', async () => {
    const lore = await loreOf(
      book({ content: 'The dragon sleeps.', key: ['dragon'], keysecondary: ['toy'], selectiveLogic: 2 }),
    );
    expect(await idsOf(lore, 'my toy dragon')).toEqual([]);
    expect(await idsOf(lore, 'the dragon')).toEqual(['0']);
  });

  it('bring an entry by its keys, and by words of its text only if it is vectorized', async () => {
    const secret = {
      key: ['Crown'],
      keysecondary: ['stolen'],
      content: 'The crown was stolen by Duke Marr, the traitor.',
    };
    const lore = await loreOf(
      book(
        { uid: 'secret', ...secret },
        { uid: 'text', ...secret, vectorized: true },
        { uid: 'keyless', content: 'The traitor has no key.' },
        { uid: 'constant', content: 'The traitor is loved.', constant: true },
      ),
    );
    expect(await idsOf(lore, 'who is the traitor?')).toEqual(['text', 'constant']);
    expect(await idsOf(lore, 'the stolen crown and the traitor')).toEqual(['secret', 'text', 'constant']);
    expect(await idsOf(lore, 'and now?', { messages: ['and now?', 'the traitor'], depth: 2 })).toEqual([
      'text',
      'constant',
    ]);
    const native = { records: [{ id: 'a', text: secret.content, keys: ['smith'] }] };
    expect(await idsOf(await loreOf(native), 'who is the traitor?')).toEqual(['a']);
    expect(lore.knowledge?.warnings).toEqual([
      expect.stringMatching(/entries\[2\] has no key and is not constant: only vectors can find it \(1 entry\)$/),
    ]);
  });

  it('do not matter for vectors, which bring every entry', async () => {
    const lore = await loreOf(book({ uid: 'a' }, { uid: 'b', key: ['ferry'] }));
    const vectors = { search: async () => [{ index: 0, score: 0.9 }], nearestGroups: async () => [] };
    const request = { query: 'ferry', topK: 3, minSimilarity: 0, filter: undefined, variables: {} };
    for (const match of ['vectors', 'both'] as const) {
      const { hits } = await createRetriever(lore, vectors).search({ ...request, match });
      expect(hits.map(({ id }) => id)).toEqual(['b', 'a']);
    }
  });

  it('caseSensitive, matchWholeWords, disable and constant say when', async () => {
    const lore = await loreOf(
      book(
        { uid: 'case', key: ['Rose'], caseSensitive: true },
        { uid: 'part', key: ['os'], matchWholeWords: false },
        { uid: 'whole', key: ['os'], matchWholeWords: true },
        { uid: 'off', key: ['rose'], disable: true },
        { uid: 'always', key: [], constant: true },
      ),
    );
    expect(await idsOf(lore, 'a rose')).toEqual(['part', 'always']);
    expect(await idsOf(lore, 'Roses for Rose')).toEqual(['case', 'part', 'always']);
  });

  it('order puts entries first, whatever their scores', async () => {
    const lore = await loreOf(
      book(
        { uid: 'low', content: 'A ferry, a ferry.', key: ['ferry'], order: 10 },
        { uid: 'high', key: ['ferry'], order: 200 },
        { uid: 'plain', key: ['ferry'] },
      ),
    );
    expect(await idsOf(lore, 'the ferry', { topK: 2 })).toEqual(['high', 'plain']);
  });

  it('probability brings an entry so often, by words and as a constant as well', async () => {
    const lore = await loreOf(
      book(
        { uid: 'half', content: 'The ferry.', key: ['ferry'], probability: 50 },
        { uid: 'never', content: 'The ferry.', key: ['ferry'], probability: 0 },
        { uid: 'unused', key: ['ferry'], probability: 0, useProbability: false },
        { uid: 'constant', constant: true, probability: 50 },
      ),
    );
    expect(await idsOf(lore, 'ferry', {}, () => 0.49)).toEqual(['half', 'unused', 'constant']);
    expect(await idsOf(lore, 'ferry', {}, () => 0.5)).toEqual(['unused']);
  });

  it('scanDepth says in how many messages keys are searched for, and scan_depth of the book for all entries', async () => {
    const messages = ['and now?', 'the ferry', 'the abbey'];
    const entries = [
      { id: 'one', content: 'Zzyzx.', keys: ['ferry'], extensions: { scan_depth: 1 } },
      { id: 'two', content: 'Zzyzx.', keys: ['ferry'], extensions: { scan_depth: 2 } },
      { id: 'node', content: 'Zzyzx.', keys: ['ferry'] },
      { id: 'three', content: 'Zzyzx.', keys: ['abbey'], extensions: { scan_depth: 3 } },
    ];
    const lore = await loreOf({ entries });
    expect(await idsOf(lore, 'and now?', { messages, topK: 9 })).toEqual(['two', 'three']);
    expect(await idsOf(lore, 'and now?', { messages, topK: 9, depth: 2 })).toEqual(['two', 'three', 'node']);
    const deep = await loreOf({ scan_depth: 2, entries });
    expect(await idsOf(deep, 'and now?', { messages, topK: 9 })).toEqual(['two', 'node', 'three']);
  });

  it('that are not used are named once each, with their number and their first place', async () => {
    const entries = [
      { uid: 0, key: ['a'], content: 'A', position: 4, sticky: 3, depth: 4, group: '', addMemo: true, displayIndex: 1 },
      { uid: 1, key: ['b'], content: 'B', position: 1, characterFilter: { isExclude: false, names: [], tags: [] } },
      { uid: 2, key: ['c'], content: 'C', position: 0, cooldown: null, excludeRecursion: false },
    ];
    expect((await readLore({ entries, name: 'A book', recursive_scanning: true })).warnings).toEqual([
      expect.stringMatching(/^lore\.kb\.json, 1:\d+: entries\[0\]\.position is not used \(2 entries\)$/),
      expect.stringMatching(/^lore\.kb\.json, 1:\d+: entries\[0\]\.sticky is not used \(1 entry\)$/),
      expect.stringMatching(/^lore\.kb\.json, 1:\d+: recursive_scanning is not used$/),
    ]);
  });
});

describe('a lorebook with fields that cannot be used', () => {
  it('is read without them', async () => {
    const entry = { uid: 7, key: ['harbour'], content: 'Zzyzx.' };
    const odd = {
      constant: 'often',
      disable: {},
      order: 'first',
      probability: [],
      caseSensitive: 7,
      comment: {},
      keysecondary: 3.5,
      selectiveLogic: 'x',
    };
    for (const [name, value] of Object.entries(odd)) {
      const { entries, warnings } = await readLore({ entries: [{ ...entry, [name]: value }] });
      expect(entries, name).toMatchObject([{ id: '7', keys: ['harbour'], always: false }]);
      expect(warnings?.join('\n'), name).toMatch(
        new RegExp(`entries\\[0\\]\\.${name} must be .*, and is left out \\(1 entry\\)$`),
      );
    }
  });

  it('takes null for what is absent in every field', async () => {
    const names = ['uid', 'key', 'keysecondary', 'comment', 'constant', 'disable', 'order', 'probability', 'scanDepth'];
    for (const name of [...names, 'selective', 'selectiveLogic', 'caseSensitive', 'matchWholeWords', 'extensions']) {
      const { entries, warnings } = await readLore({
        entries: { 3: { content: 'Zzyzx.', keywords: ['a'], [name]: null } },
      });
      expect([entries.length, entries[0]?.id, warnings], name).toEqual([1, '3', []]);
    }
  });

  it.each([
    [{ keys: 'harbour, port' }, ['harbour', 'port']],
    [{ keys: '/a{1,2}/i, port' }, ['/a{1,2}/i', 'port']],
    [{ keys: 'port, /a{1,2},b,c/i,/x/ ,/y\\/,z/' }, ['port', '/a{1,2},b,c/i', '/x/', '/y\\/,z/']],
    [{ keys: '/home, /a,b/,/etc/x,/c' }, ['/home', '/a,b/', '/etc/x', '/c']],
    [{ key: [1984, 'x', null, ' '] }, ['1984', 'x']],
    [{ keys: 12 }, []],
  ])('reads the keys %j', async (keys, expected) => {
    const { entries } = await readLore({ entries: [{ content: 'A', ...keys }] });
    expect(entries[0]?.keys).toEqual(expected);
  });

  it('reads keys with many escaped slashes in linear time', async () => {
    await expectLinearTime(async (times) => {
      const keys = `/a${',\\/'.repeat(500 * times)}`;
      const { entries } = await readLore({ entries: [{ content: 'A', keys }] });
      expect(entries[0]?.keys).toHaveLength(500 * times + 1);
    });
  });

  it('reads truths that are texts or numbers', async () => {
    const { entries, warnings } = await readLore(
      book({ constant: 'true' }, { constant: 1 }, { disable: 'TRUE' }, { enabled: 'false' }, { enabled: 0 }),
    );
    expect([entries.map(({ always }) => always), warnings]).toEqual([[true, true], []]);
  });

  it('does not check a disabled entry, and skips one without content, which it says', async () => {
    const entries = [
      { key: ['/(?<=a)b/'], content: 7, constant: 'x', disable: true },
      { key: ['a'] },
      { key: ['b'], content: ' ' },
      null,
      { key: ['c'], content: 'C' },
    ];
    const lore = await readLore({ entries });
    expect(lore.entries).toMatchObject([{ id: '4' }]);
    expect(lore.warnings).toEqual([
      'lore.kb.json, 1:77: entries[1] has no content, and is left out (2 entries)',
      'lore.kb.json, 1:119: entries[3] must be an object, and is left out (1 entry)',
    ]);
  });

  it('gives missing ids that no entry has, and double ones a suffix', async () => {
    const { entries, warnings } = await readLore(
      book(...[1, undefined, 'a', 'a', 'a-2', 'a', true].map((id) => ({ id, key: ['x'] }))),
    );
    expect(entries.map(({ id }) => id)).toEqual(['1', '1-2', 'a', 'a-3', 'a-2', 'a-4', '6']);
    expect(warnings).toEqual([
      expect.stringMatching(/entries\[6\]\.id must be a string, and is left out \(1 entry\)$/),
      expect.stringMatching(/entries\[3\] has the id "a", as an earlier entry, and gets the id "a-3" \(2 entries\)$/),
    ]);
  });

  it('is refused for a pattern that RE2 does not have, with its place', async () => {
    await expect(readLore({ entries: { 0: { key: ['a', '/(?<!x)b/'], content: 'A' } } })).rejects.toThrow(
      /^lore\.kb\.json, 1:29: entries\[0\]\.key\[1\] is not a supported pattern .*; rewrite it, or disable/,
    );
  });

  it('is refused with all such patterns, at most twenty', async () => {
    const bad = (count: number) =>
      book(...Array.from({ length: count }, (_, id) => ({ id, key: ['a', '/(?<!x)b/', '/[/'] })));
    const problemsOf = (document: object) =>
      readLore(document).then(
        () => [],
        (error: unknown) => (error as InvalidEntries).problems,
      );
    expect(await problemsOf(bad(2))).toEqual([
      expect.stringMatching(/entries\[0\]\.key\[1\] is not .*x/),
      expect.stringMatching(/entries\[0\]\.key\[2\] is not .*missing closing \]/),
      expect.stringMatching(/entries\[1\]\.key\[1\] is not/),
      expect.stringMatching(/entries\[1\]\.key\[2\] is not/),
    ]);
    expect(await problemsOf(bad(30))).toHaveLength(20);
    const records = ['a', 'b'].map((id) => ({ id, text: 'x', keys: ['/(/'] }));
    expect(await problemsOf({ records })).toHaveLength(2);
    await expect(readLore({ records })).rejects.toThrow(/records\[0\]\.keys\[0\] .*; turngraph check shows 1 more$/);
  });

  it('warns of a hundred members that are not used, in linear time', async () => {
    await expectLinearTime(async (times) => {
      const count = 100 + 200 * times;
      const members = Object.fromEntries(Array.from({ length: count }, (_, index) => [`member${index}`, 'x']));
      const { warnings } = await readLore(book({ key: ['a'], ...members }));
      expect(warnings).toHaveLength(101);
      expect(warnings?.slice(-2)).toEqual([
        expect.stringMatching(/^lore\.kb\.json, 1:\d+: entries\[0\]\.member99 is not used \(1 entry\)$/),
        `${count - 100} more problems of its entries are not shown`,
      ]);
    });
  });

  it.each<[string, unknown, string]>([
    ['selectiveLogic', 9, 'must be one of 0 to 3, and is left out'],
    ['probability', 150, 'must be a number of 0 to 100, and is left out'],
    ['scanDepth', 0, 'must be a number from 1, and is left out'],
    ['scanDepth', -1, 'must be a number from 1, and is left out'],
    ['key', ['/foo/q'], 'has flags that no pattern has, and is matched as a text'],
    ['key', ['/home/user', '/foo/i'], ''],
  ])('warns of %s %j', async (name, value, warning) => {
    const { warnings } = await readLore(book({ key: ['a'], [name]: value }));
    expect(warnings?.join()).toMatch(warning === '' ? /^$/ : warning);
  });

  it('warns of a book without entries, and of a card whose checksum is wrong', async () => {
    expect((await readLore({ entries: {} })).warnings).toEqual(['lore.kb.json has no entry that can be used']);
    const image = pngWithText(['chara', base64(card('chara_card_v2', { entries: [entry] }))]);
    expect((await readLore(image)).warnings).toEqual([]);
    image[image.indexOf('IEND') - 5] = 1;
    expect((await readLore(image)).warnings).toEqual([
      'lore.kb.json: the chunk "chara" has a wrong checksum (CRC), so it may be damaged; export the card again',
    ]);
  });

  it('warns of keys that never match, and of lines that are no text', async () => {
    const { entries, warnings } = await readLore(
      book({ keys: ['\u0301', 'a', '{{char}}'], content: '@@depth 4\n@@role user\nThe text.' }),
    );
    expect(entries[0]?.text).toBe('The text.');
    expect(warnings).toEqual([
      expect.stringMatching(/entries\[0\] has decorators \(lines with @@\), which are not used \(1 entry\)$/),
      expect.stringMatching(/entries\[0\]\.keys\[0\] has nothing that can be matched \(1 entry\)$/),
      expect.stringMatching(/entries\[0\]\.keys\[2\] has a macro, which is not replaced \(1 entry\)$/),
    ]);
  });
});

const entry = { keys: ['harbour'], content: 'It freezes.', enabled: true, insertion_order: 10 };
const card = (spec: string, book?: object) => ({ spec, data: { name: 'Mira', first_mes: 'Hi', character_book: book } });

const base64 = (document: object): string => Buffer.from(JSON.stringify(document)).toString('base64');

describe('a book of another program', () => {
  it.each<[string, unknown]>([
    ['a character card V2', card('chara_card_v2', { entries: [entry] })],
    ['a character card V3', card('chara_card_v3', { entries: [{ ...entry, use_regex: false, decorators: [] }] })],
    ['a card without spec', { data: { character_book: { entries: [entry] } } }],
    [
      'a character of Agnai',
      { kind: 'character', characterBook: { entries: [{ entry: 'It freezes.', keywords: ['harbour'] }] } },
    ],
    ['the book of a card alone', { character_book: { entries: [entry] } }],
    ['lorebook_v3', { spec: 'lorebook_v3', data: { entries: [entry] } }],
    ['a bare list', [{ uid: 0, key: ['harbour'], content: 'It freezes.' }]],
    [
      'NovelAI',
      {
        lorebookVersion: 5,
        entries: [
          {
            text: 'It freezes.',
            displayName: '',
            keys: ['harbour'],
            enabled: true,
            contextConfig: { budgetPriority: 400 },
          },
        ],
      },
    ],
    [
      'RisuAI',
      {
        type: 'risu',
        ver: 1,
        data: [
          {
            key: 'harbour, port',
            comment: '',
            content: 'It freezes.',
            mode: 'normal',
            insertorder: 100,
            alwaysActive: false,
            secondkey: '',
            selective: false,
          },
        ],
      },
    ],
    [
      'Agnai',
      {
        kind: 'memory',
        name: 'x',
        entries: [{ name: '', entry: 'It freezes.', keywords: ['harbour'], weight: 3, priority: 3, enabled: true }],
      },
    ],
    ['a PNG with chara', pngWithText(['Comment', 'x'], ['chara', base64(card('chara_card_v2', { entries: [entry] }))])],
    [
      'a PNG with bytes after its end',
      Buffer.concat([
        pngWithText(['chara', base64(card('chara_card_v2', { entries: [entry] }))]),
        Buffer.from('trailing'),
      ]),
    ],
    [
      'a PNG with ccv3 and an older card',
      pngWithText(['chara', base64({})], ['ccv3', base64(card('chara_card_v3', { entries: [entry] }))]),
    ],
  ])('is read: %s', async (_, document) => {
    const lore = await loreOf(document);
    expect(lore.knowledge?.entries).toMatchObject([{ id: '0', text: 'It freezes.', always: false }]);
    expect(await idsOf(lore, 'the harbours')).toEqual(['0']);
  });

  it('may have an image of more than a megabyte beside its entries', async () => {
    const avatar = 'x'.repeat(3_000_000);
    expect((await readLore({ avatar, data: { avatar, character_book: { entries: [entry] } } })).entries).toHaveLength(
      1,
    );
  });

  it.each<[string, unknown, string]>([
    ['a card without a book', card('chara_card_v2'), 'lore.kb.json is a character card without a lorebook'],
    [
      'an image without a card',
      pngWithText(['Comment', 'x']),
      'is an image without a character card (a tEXt chunk "chara" or "ccv3")',
    ],
    ['another image', Buffer.from('GIF89a'), 'it must be a JSON array or a JSON object'],
    [
      'a cut image',
      pngWithText(['chara', base64({})]).subarray(0, 60),
      'ends within a chunk at byte 55; copy it again',
    ],
    [
      'an image whose card is not base64',
      pngWithText(['chara', 'eyJh*J9']),
      'lore.kb.json: the chunk "chara" is damaged, and must be base64; export the card as PNG again',
    ],
    [
      'an image with JSON as it is',
      pngWithText(['Ccv3', '{"data": {}}']),
      'the chunk "ccv3" is JSON as it is, and must be base64',
    ],
    [
      'a card in another chunk',
      Buffer.from(
        pngWithText(['chara', base64({})])
          .toString('latin1')
          .replace('tEXt', 'zTXt'),
        'latin1',
      ),
      'has its card in the chunk zTXt "chara", and only tEXt is read; open it in SillyTavern and export it again',
    ],
    [
      'an image whose card is no JSON',
      pngWithText(['chara', Buffer.from('{"a"').toString('base64')]),
      'is not valid JSON',
    ],
  ])('is refused: %s', async (_, document, message) => {
    await expect(readLore(document)).rejects.toThrow(message);
  });

  it('of NovelAI has keys of parts that must all be there', async () => {
    const entry = { text: 'Zzyzx.', keys: ['mill & old wheel', 'ferry'], contextConfig: {}, forceActivation: false };
    const lore = await loreOf({ lorebookVersion: 5, entries: [entry] });
    for (const query of ['the old wheel of the mill', 'a ferry'])
      expect(await idsOf(lore, query), query).toEqual(['0']);
    for (const query of ['the mill', 'an old wheel', 'mill & wheel'])
      expect(await idsOf(lore, query), query).toEqual([]);
    const other = await loreOf(book({ key: ['Mill & Wheel'] }));
    expect(await idsOf(other, 'the Mill & Wheel inn')).toEqual(['0']);
    expect(await idsOf(other, 'the wheel of the mill')).toEqual([]);
  });

  it('takes keys for patterns that it says are such, unless they are texts as well', async () => {
    const lore = await loreOf(book({ id: 'a', keys: ['dragons?\\b', 'C++', 'harbour'], use_regex: true }));
    for (const query of ['two Dragons', 'C++', 'harbour']) expect(await idsOf(lore, query), query).toEqual(['a']);
    for (const query of ['dragonfly', 'the c', 'harbourmaster']) expect(await idsOf(lore, query), query).toEqual([]);
  });

  it('takes such a key for the text that it is, too: programs say of all their keys that they are patterns', async () => {
    const keys = ['Fire (spell)', 'rank [S]', '$100', 'lam.+s', 'km\\/h\\b', 'and/or?'];
    const lore = await loreOf(book({ id: 'a', keys, use_regex: true }));
    for (const query of [
      'what is fire (spell)?',
      'of rank [S]',
      'it costs $100',
      'Fire Spell',
      'two lamas',
      '90 km/h',
      'and/or',
    ])
      expect(await idsOf(lore, query), query).toEqual(['a']);
    expect(await idsOf(lore, 'fire, rank, 100')).toEqual([]);
  });
});

describe('entries that come always', () => {
  const rule = (uid: number, rest: object = {}) => ({
    uid,
    content: `Rule ${uid} of the town.`,
    constant: true,
    ...rest,
  });

  it('are as many as are short enough together', async () => {
    const { entries, warnings } = await readLore({ entries: Array.from({ length: 200 }, (_, uid) => rule(uid)) });
    expect([entries.filter(({ always }) => always).length, warnings]).toEqual([200, []]);
  });

  it('are the first in order within the tokens that a book or a file allows, and what is left out is named', async () => {
    const rules = [rule(0), rule(1, { order: 200 }), rule(2)];
    const { entries, warnings } = await readLore({ token_budget: 12, entries: rules });
    expect(entries.map(({ id, always }) => `${id} ${always}`)).toEqual(['0 true', '1 true', '2 false']);
    expect(warnings).toEqual([
      '3 entries have always (in a lorebook: constant), and only about 12 tokens come with every search: "2" come only as other entries do; shorten them, or set "always_tokens" (in a lorebook: "token_budget")',
    ]);
    const records = rules.map(({ uid, content }) => ({ id: `${uid}`, text: content, always: true }));
    expect((await readLore({ always_tokens: 6, records })).entries.map(({ always }) => always)).toEqual([
      true,
      false,
      false,
    ]);
    await expect(readLore({ always_tokens: 'x', records })).rejects.toThrow('always_tokens must be a number from 0');
  });
});
