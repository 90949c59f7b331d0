import { RE2JS, RE2Set } from 're2js';
import { describe, expect, it, vi } from 'vitest';
import { PatternAutomaton } from '../../../../src/graph/storage/patternAutomaton.ts';
import { compilePatterns } from '../../../../src/graph/storage/patternSet.ts';
import { translatePattern } from '../../../../src/graph/storage/patternTranslation.ts';

const neverAborted = new AbortController().signal;
const indexIn = async (list: readonly string[], text: string): Promise<number | undefined> => {
  const reading = await compilePatterns(list);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value.match(text, neverAborted);
};

describe('a list of patterns', () => {
  it('finds the first that matches, at any index', async () => {
    const list = Array.from({ length: 50 }, (_, index) => `word${index}x`);
    expect(await indexIn(list, 'say WORD37x, not word44x')).toBe(37);
    expect(await indexIn(list, 'word3')).toBeUndefined();
    expect(await indexIn([], 'word3')).toBeUndefined();
  });

  it('is rejected with the location of every invalid pattern', async () => {
    const reading = await compilePatterns([...Array.from({ length: 30 }, () => 'fine'), 'b(?=x)', 'c(']);
    expect(!reading.ok && reading.errors.map(({ pointer }) => pointer)).toEqual(['/30', '/31']);
  });

  it('may be larger than one set', async () => {
    const large = Array.from({ length: 15 }, (_, index) => `(?:${String.fromCodePoint(0x4e00 + index)}x){1000}`);
    expect(await indexIn([...large, 'small'], 'a small word')).toBe(15);
    expect(await indexIn([...large, 'small'], '\u4e07x'.repeat(1000))).toBe(7);
  });

  it.each([
    ['the empty pattern', '', 'is empty, and would match every text'],
    ['a long pattern', 'abcd'.repeat(5000), 'is too large: it has 20000 characters, and 16384 are allowed'],
    ['repetitions of repetitions', '(?:abcd{30}){900}', 'characters with its repetitions written out, and 20000'],
    // Each is read anew: 2 s.
    ['wide ranges', '[a-\\x{10ffff}]'.repeat(300), 'is too large: it has 25330 characters with its repetitions'],
    ['ranges that are written out', '[^\\W]'.repeat(600), 'is too large: it has 30000 characters with its repetitions'],
    ['look-ahead', '(?=a)', 'is not a supported pattern (RE2 syntax, no lookaround or backreferences): "(?=a)"'],
  ])('rejects %s', async (_, pattern, message) => {
    const reading = await compilePatterns(['fine', pattern]);
    expect(reading).toMatchObject({
      errors: [{ pointer: '/1', message: expect.stringContaining(message) as unknown }],
    });
  });

  it('rejects a list that is too large as a whole, before it compiles any', async () => {
    const add = vi.spyOn(RE2Set.prototype, 'add');
    const reading = await compilePatterns(
      Array.from({ length: 100 }, (_, index) => `a{999}b{999}.{999}${index}`.repeat(4)),
    );
    expect(reading).toMatchObject({ errors: [{ pointer: '', code: 'LIMIT_EXCEEDED' }] });
    expect(add).not.toHaveBeenCalled();
    add.mockRestore();
  });

  it('is compiled once for all that use the same list', async () => {
    const compile = vi.spyOn(RE2Set.prototype, 'compile');
    const list = ['one', 'two'];
    await Promise.all([compilePatterns(list), compilePatterns(list)]);
    await compilePatterns(list);
    expect(compile).toHaveBeenCalledTimes(1);
    compile.mockRestore();
  });

  it('writes no ranges of a class out that are long to read', () => {
    expect(translatePattern('f[\\W_]*o', (text) => text).length).toBeLessThan(100);
    expect(translatePattern('[\\W]', (text) => text)).toBe(translatePattern('\\W', (text) => text));
  });

  it('may repeat a class that takes long to read, which is read once', async () => {
    expect(await indexIn(['^[b-\\x{10ffff}]{300}$', '^[^\\W_]{300}$'], 'a'.repeat(300))).toBe(1);
  });

  it('knows which patterns match every text', async () => {
    const reading = await compilePatterns(['x*', 'fine', '.*', '^$', '(?:)', 'a?b?', '[^a]', '^', '\\s+']);
    expect(reading.ok && reading.value.matchAll).toEqual([0, 2, 4, 5, 7]);
  });

  it.each(['^\\W*$', '^[^a-z]*$', '^.{0,20}$', '^\\S*$'])(
    'knows that %s matches no ordinary sentence, though it matches the empty text',
    async (pattern) => {
      const reading = await compilePatterns([pattern]);
      expect(reading.ok && reading.value.matchAll).toEqual([]);
    },
  );
});

describe('matching a text in pieces', () => {
  const patterns = [
    '^start',
    'end$',
    '\\bword\\b',
    '(?m)^line$',
    '(?m)^$',
    'a.c',
    '(?s)a.c',
    '[^\\n]{3}z',
    '\\p{Greek}+x',
    '🎉.🎉',
    'ſ',
    'x{3,5}y',
    '(?:ab|cd)+e',
    '\\A\\d+\\z',
    '\\Bo\\B',
    '[[:punct:]]{2}',
    '(?i)straße',
    'no match',
  ];
  const texts = [
    '',
    'start',
    'restart',
    'the end',
    'the end\n',
    'a word.',
    'swords',
    'a\nline\nb',
    'a\n\nb',
    'a\nc',
    'abc',
    'abcz',
    'λλx',
    '🎉🎉🎉',
    '🎉\ud83c🎉',
    'S',
    'xxxy',
    'ababcde',
    '123',
    '123\n',
    'foot',
    'so?!',
    'STRASSE straẞe',
    'ABC',
  ];

  it.each(patterns)('finds the same as re2js: %j', async (pattern) => {
    const expected = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL);
    for (const text of texts) {
      expect([text, (await indexIn([pattern], text)) !== undefined]).toEqual([text, expected.matcher(text).find()]);
      const long = `${'q '.repeat(5000)}\n${text}`;
      expect([text, (await indexIn([pattern], long)) !== undefined]).toEqual([text, expected.matcher(long).find()]);
    }
  });

  it('pauses again and again, also where each character takes long, and ends when it is aborted', async () => {
    const set = new RE2Set(RE2Set.UNANCHORED, RE2JS.CASE_INSENSITIVE, 64 * 1024);
    set.add('a(?:a|b){300}c');
    set.compile();
    const automaton = new PatternAutomaton(set, false);
    const random = Array.from({ length: 2000 }, (_, index) => ((index * index * 7919) % 101 < 50 ? 'a' : 'b')).join('');
    const pausesFor = async (text: string): Promise<number> => {
      let pauses = 0;
      await automaton.match(text, async () => void pauses++);
      return pauses;
    };
    const pauses = await pausesFor(random);
    expect(pauses).toBeGreaterThan(20);
    expect(await pausesFor('b'.repeat(2000))).toBeLessThan(pauses / 10);
    const stopped = automaton.match(random, () => Promise.reject(new Error('stopped')));
    await expect(stopped).rejects.toThrow('stopped');
  });
});
