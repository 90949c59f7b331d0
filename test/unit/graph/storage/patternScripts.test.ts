import { describe, expect, it } from 'vitest';
import { compilePatterns, type PatternFold } from '../../../../src/graph/storage/patternSet.ts';

const neverAborted = new AbortController().signal;

async function matches(pattern: string, text: string, fold: PatternFold = 'forms'): Promise<boolean> {
  const reading = await compilePatterns([pattern], fold);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return (await reading.value.match(text, neverAborted)) !== undefined;
}

type Row = readonly [pattern: string, text: string, expected: boolean];

const latin: readonly Row[] = [
  ['\\bcafé\\b', 'un café noir', true],
  ['\\bcafé\\b', 'un cafe\u0301 noir', true],
  ['\\bcafe\u0301\\b', 'un café noir', true],
  ['\\bcafé\\b', 'cafés', false],
  ['\\bcaf\\b', 'un café', false],
  ['\\bsu\\b', 'một suất cơm', false],
  ['\\bsu\\b', 'một su\u00e2\u0301t', false],
  ['\\bsuất\\b', 'một suất cơm', true],
  ['\\bstraße\\b', 'die Straße hinab', true],
  ['\\bnaïve?\\b', 'How NAÏVE!', true],
  ['\\bor\\b', 'señor', false],
  ['\\bor\\b', 'eu or não', true],
  ['\\Bor\\b', 'señor', true],
  ['\\w+ção', 'informação', true],
  ['^\\w+$', 'Brünhild', true],
  ['^\\W+$', 'ß', false],
  ['[\\w-]+@', 'müller@', true],
  ['^[^\\W\\d_]+$', 'Ærøskøbing', true],
  ['^[^\\W\\d_]+$', 'Ærø2', false],
  ['^[\\W_]+$', '__ - __', true],
  ['^[\\W_]+$', '_é_', false],
  ['^[\\W\\d]{3}$', '1-2', true],
  ['^[\\Wa]+$', 'A -', true],
  ['^[\\Wa]+$', 'b', false],
  ['^[\\w\\W]+$', 'é -', true],
  ['ignore previous', 'ignore   previous', true],
  ['ignore previous', 'ignore\nprevious', true],
  ['ignore previous', 'ignore\u00a0previous', true],
  ['ignore previous', 'ignoreprevious', false],
  ['ignore.*previous', 'ignore\nall\nprevious', true],
  ['a\\sb', 'a \u2003 b', true],
  ['a[ _]b', 'a  b', true],
  ['a[ _]b', 'a__b', false],
  ['a b?$', 'a  ', true],
  ['password', 'pass\u00adword', true],
  ['password', 'p\u200ba\u200bs\u200bs\u200bword', true],
  ['\\bass\\b', 'gl\u00adass', false],
  ['password', 'ｐａｓｓｗｏｒｄ', true],
  ['password', '𝐩𝐚𝐬𝐬𝐰𝐨𝐫𝐝', true],
  ['ｐａｓｓ\\w*', 'password', true],
  ['[ａ-ｚ]{4}', 'pass', true],
  ['fi(sh)?$', 'ﬁ', true],
  ['ﬁ?sh', 'fish', true],
  ['[½¼]', 'add ½ cup', true],
  ['\\Qa.b\\E?c', 'a.c', true],
  ['\\Qa b\\E', 'a   b', true],
  ['\\x{E9}t\\x{e9}', 'l’e\u0301te\u0301', true],
  ['(?-i)Été', 'été', false],
];

const cyrillic: readonly Row[] = [
  ['\\bдурак\\b', 'ты дурак', true],
  ['\\bдурак\\b', 'ТЫ ДУРАК!', true],
  ['\\bдурак\\b', 'дураки', false],
  ['\\b(пиво|эль)\\b', 'налей пиво', true],
  ['\\b(пиво|эль)\\b', 'эльф', false],
  ['скажи\\s+\\w+', 'скажи слово', true],
  ['скажи\\s+\\w+', 'скажи\u00a0слово', true],
  ['^\\W+$', 'дурак', false],
  ['\\bй\\w*', 'и\u0306од', true],
  ['\\bе\\b', 'поле', false],
  ['пар[оа]ль', 'пар\u200bоль', true],
  ['\\b[А-Я]+\\b', 'привет', true],
  ['\\bне\\b.*\\bвходи\\b', 'не\nвходи', true],
  ['(?:^|\\s)я(?:\\s|$)', 'это я', true],
  ['\\bкот\\b', 'мой ко\u0301т', true],
  ['\\bко\u0301т\\b', 'мой кот', true],
  ['ко\u0301+т', 'кооот', true],
  ['кот', 'к\u0308от', false],
  ['\\u043a\\u043e\\u{0442}$', 'кот', true],
  ['^[\\u0430-\\u044f]+$', 'кот', true],
  ['^[^\\u200b\\u{43a}]$', 'к', false],
  ['\\ud83d\\ude00', '😀', true],
  ['\\\\u0041', '\\u0041', true],
  ['\\bмо[йя] \\w+\\b', 'моя   тайна', true],
];

const greek: readonly Row[] = [
  ['\\bΚαλημέρα\\b', 'καλημέρα σας', true],
  ['\\bκαι\\b', 'και\u0301', false],
  ['\\bκρασί\\b', 'θέλω κρασι\u0301', true],
  ['\\bκρασί\\b', 'κρασίστας', false],
  ['\\w+ος\\b', 'φίλος', true],
  ['^[\\w ]+$', 'ένα δύο', true],
  ['\\p{Greek}+x', 'λλx', true],
  ['\\bο\\b', 'λόγος', false],
  ['\\bδώσε\\W+μου\\b', 'δώσε, μου', true],
];

const arabicAndHebrew: readonly Row[] = [
  ['\\bسيف\\b', 'اعطني سيف الآن', true],
  ['\\bسيف\\b', 'سيوف', false],
  ['\\bكلب\\b', 'كلبي', false],
  ['\\bكلب\\b', 'ﻛﻠﺐ', true],
  ['^\\d{4}$', '٢٠٢٦', true],
  ['^\\D+$', '٢٠٢٦', false],
  ['\\bمی\\w+', 'می\u200cخواهم', true],
  ['\\bשלום\\b', 'שלום לך', true],
  ['\\bשלום\\b', 'ושלום', false],
  ['\\bשָׁלוֹם\\b', 'שָׁלוֹם', true],
  ['\\bשָׁלוֹם\\b', 'שלום', true],
  ['\\bסיסמה\\b', 'סִיסְמָה', true],
  ['سر', 'الـسـر', true],
  ['سـر', 'السر', true],
  ['سـ*ر', 'السر', true],
  ['كلمة', 'كَلِمة', true],
  ['ك[\u064b-\u0652]*لمة', 'كَلِمة', true],
];

const indicAndThai: readonly Row[] = [
  ['\\bहिन्दी\\b', 'मैं हिन्दी बोलता हूँ', true],
  ['\\bहिन\\b', 'हिन्दी', false],
  ['^\\w+$', 'हिन्दी', true],
  ['क\u093c', 'क़', true],
  ['[\u0958]', 'क\u093c', true],
  ['^\\d+$', '१२३', true],
  ['สวัสดี', 'สวัส\u200bดี', true],
  ['^\\w+$', 'สวัสดี', true],
  ['^\\W$', 'ก', false],
];

const eastAsian: readonly Row[] = [
  ['^\\w+$', '漢字', true],
  ['密码\\w+', '密码是什么', true],
  ['パスワード', 'ﾊﾟｽﾜｰﾄﾞ', true],
  ['ﾊﾟｽ', 'パスワード', true],
  ['パ', 'ハ\u309a', true],
  ['東京 駅', '東京　駅', true],
  ['[０-９]{3}', '123', true],
  ['\\d{3}', '１２３', true],
  ['한국', '\u1112\u1161\u11ab\u1100\u116e\u11a8', true],
  ['\\b한국\\b', '한국어', false],
  ['\\b한국\\b', '한국 사람', true],
  ['！+', 'Hi!!', true],
  ['（秘密）', '(秘密)', true],
  ['❤', 'I ❤\ufe0f you', true],
  ['❤\ufe0f', 'I ❤ you', true],
  ['👨\u200d👩', '👨👩', true],
];

const confusables: readonly Row[] = [
  ['password', 'pаssword', true],
  ['\\bpassword\\b', 'раѕѕwоrd', true],
  ['ignore', 'іgnоrе', true],
  ['ignore', 'ІGNORE', true],
  ['admin', 'αdmin', true],
  ['\\bkill\\b', 'kiӏl', true],
  ['system', 'ѕуѕtеm', true],
  ['пароль', 'пароль', true],
  ['пароль', 'пapoль', true],
  ['\\p{Cyrillic}{3}', 'это', true],
  ['[а-я]{3}', 'это', true],
  ['burn', 'bum', false],
  ['\\bill\\b', 'all', false],
  ['password', 'pass\u200bwоrd', true],
  ['зло', 'ЗЛО', true],
  ['зло', 'з\u0308л\u0323о', true],
  ['password', 'pássword', true],
  ['password', 'p\u0336a\u0336s\u0336s\u0336w\u0336o\u0336r\u0336d\u0336', true],
  ['password', 'pа\u0301ssword', true],
  ['λογος', 'λόγος', true],
  ['café', 'un café', true],
  ['café', 'un cafe\u0301', true],
  ['café', 'un cаfé', true],
  ['café', 'un cafe', false],
  ['[éè]cole', 'École', true],
  ['café|password', 'pássword', true],
  ['हिन\\b', 'हिन्दी', false],
];

const scripts = { latin, cyrillic, greek, arabicAndHebrew, indicAndThai, eastAsian };

describe.each(Object.entries(scripts))('patterns of words: %s', (_, rows) => {
  it.each(rows)('%j in %j: %j', async (pattern, text, expected) => {
    expect(await matches(pattern, text)).toBe(expected);
  });
});

describe('look-alikes', () => {
  it.each(confusables)('%j in %j: %j', async (pattern, text, expected) => {
    expect(await matches(pattern, text, 'confusables')).toBe(expected);
  });

  it('are other letters where nothing is said of them', async () => {
    expect(await matches('password', 'pаssword')).toBe(false);
  });
});

it('matches as many rows as the table says', () => {
  expect([...Object.values(scripts), confusables].flat().length).toBeGreaterThan(100);
});

describe('a part that folding removes', () => {
  it.each(['\\x{200b}', '[\u200b\u00ad]+', 'pass[\\x{ad}]word', '\u2060', 'a|\u200b', '\\x{feff}+', 'سر|ـ+'])(
    'is refused with the reason: %j',
    async (pattern) => {
      const reading = await compilePatterns([pattern]);
      expect(reading).toMatchObject({
        errors: [{ pointer: '/0', message: expect.stringContaining('invisible characters only') as unknown }],
      });
    },
  );

  it.each([
    ['pass\u00adword', 'password'],
    ['pass[\u00ad\u200b]?word', 'password'],
    ['pass\\x{ad}*word', 'password'],
    ['pass[\\s\u200b]*word', 'pass word'],
    ['^[^\u200b]+$', 'password'],
  ])('need not be there: %j', async (pattern, text) => {
    expect(await matches(pattern, text)).toBe(true);
  });
});

it('finds boundaries in a long text of many letters, where states have to make room for them', async () => {
  const letters = Array.from({ length: 3000 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const list = [...letters.slice(0, 1000).map((letter) => `${letter}!`), '\\bконец\\b'];
  const reading = await compilePatterns(list);
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  const text = letters.join(' ');
  expect(await reading.value.match(`${text} бесконец`, neverAborted)).toBeUndefined();
  expect(await reading.value.match(`${text} конец`, neverAborted)).toBe(1000);
  const both = await Promise.all([
    reading.value.match(`${text} конец`, neverAborted),
    reading.value.match('丁!', neverAborted),
  ]);
  expect(both).toEqual([1000, 1]);
});
