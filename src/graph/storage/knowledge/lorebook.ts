import { isObject } from '../../../base/jsonTypes.ts';
import { escapePattern } from '../../../base/patterns.ts';
import type { ReadResult } from '../../../protocol/schema.ts';
import { patternErrors, patternOfKey } from '../patternSet.ts';
import { canMatch, defaultRules, type KnowledgeEntry, type LoreRules, logics } from './knowledge.ts';

/** Is told what of an entry is not used. @param problem what its member at the pointer is, without its place. */
export type Note = (pointer: string, problem: string) => void;

/** Names of the same member in the books of SillyTavern, character cards, NovelAI, RisuAI and Agnai, without case and `_`. */
const aliases = new Map([
  ['id', ['uid', 'id']],
  ['keys', ['key', 'keys', 'keywords']],
  ['secondary', ['keysecondary', 'secondarykeys', 'secondkey']],
  ['title', ['comment', 'name', 'displayname']],
  ['content', ['content', 'entry', 'text']],
  ['constant', ['constant', 'alwaysactive', 'forceactivation']],
  ['probability', ['probability', 'activationpercent']],
  ['order', ['order', 'insertionorder', 'insertorder', 'weight', 'budgetpriority']],
]);

/** Members that are read, that change nothing about which entries come, or that hold others. */
const harmless = new Set(
  `${[...aliases.values()].flat().join(' ')} disable enabled selective selectivelogic casesensitive matchwholewords
  useprobability scandepth useregex vectorized addmemo bookversion category contextconfig createdat displayindex extensions folder
  lastupdatedat`.split(/\s+/),
);
/** Values with which members have no effect in the programs that know them: all members, and some. */
const emptyValues: readonly unknown[] = [null, false, '', 0];
const inert = new Set(['depth 4', 'groupweight 100', 'mode normal', 'position before_char']);

const isInert = (name: string, value: unknown): boolean =>
  emptyValues.includes(value) ||
  inert.has(`${name} ${String(value)}`) ||
  (value instanceof Object && Object.values(value).every((item) => isInert('', item)));

const truths: ReadonlyMap<string, boolean> = new Map(
  ['false', 'true', '0', '1'].map((text, index) => [text, index % 2 === 1]),
);

interface Member {
  readonly pointer: string;
  readonly value: unknown;
}

/** The members of an entry, read one by one; one that cannot be used is as one that is absent, and noted. */
class EntryMembers {
  readonly #members = new Map<string, Member>();
  readonly #note: Note;

  constructor(entry: Readonly<Record<string, unknown>>, note: Note) {
    this.#note = note;
    for (const holder of ['/contextConfig', '/extensions', '']) {
      const held = holder === '' ? entry : entry[holder.slice(1)];
      for (const [name, value] of Object.entries(isObject(held) ? held : {}))
        if (value !== null)
          this.#members.set(name.replaceAll('_', '').toLowerCase(), { pointer: `${holder}/${name}`, value });
    }
  }

  /** Notes the members that nothing reads. */
  noteOthers(): void {
    for (const [name, { pointer, value }] of this.#members)
      if (!harmless.has(name) && !isInert(name, value)) this.#note(pointer, 'is not used');
  }

  boolean(name: string): boolean | undefined {
    return this.#read(name, 'true or false', (value) => truths.get(String(value).toLowerCase()));
  }

  number(name: string, what = 'a number', isValid: (value: number) => boolean = Number.isFinite): number | undefined {
    return this.#read(name, what, (value) => {
      const isNumber = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
      return isNumber && isValid(Number(value)) ? Number(value) : undefined;
    });
  }

  text(name: string): string | undefined {
    return this.#read(name, 'a string', textOf);
  }

  /** The texts of a list, or of one text with commas, each with its pointer. */
  keys(name: string): readonly (readonly [key: string, pointer: string])[] {
    const read = (value: unknown) =>
      typeof value === 'string' ? splitKeys(value) : Array.isArray(value) ? (value as unknown[]) : undefined;
    const list = this.#read(name, 'a list of strings', read) ?? [];
    const { pointer: place = '', value } = this.#find(name) ?? {};
    return list.flatMap((key, index) => {
      const text = textOf(key)?.trim();
      const pointer = Array.isArray(value) ? `${place}/${index}` : place;
      if (text === undefined && key !== null) this.#note(pointer, 'must be a string, and is left out');
      if (text && !canMatch(text)) this.#note(pointer, 'has nothing that can be matched');
      if (text && hasOddFlags(text)) this.#note(pointer, 'has flags that no pattern has, and is matched as a text');
      if (text?.includes('{{')) this.#note(pointer, 'has a macro, which is not replaced');
      return text ? [[text, pointer] as const] : [];
    });
  }

  #find(name: string): Member | undefined {
    return (aliases.get(name) ?? [name]).map((alias) => this.#members.get(alias)).find(Boolean);
  }

  #read<T>(name: string, what: string, read: (value: unknown) => T | undefined): T | undefined {
    const member = this.#find(name);
    const value = member && read(member.value);
    if (member && value === undefined) this.#note(member.pointer, `must be ${what}, and is left out`);
    return value;
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/** Whether a text looks like a pattern but for its flags; `/home/user` does not. */
const hasOddFlags = (key: string): boolean => /^\/[^/]+\/[a-z]{1,2}$/i.test(key) && patternOfKey(key) === undefined;

/** Keys with commas between them; a pattern may have commas in it. */
function splitKeys(text: string): readonly string[] {
  const keys: string[] = [];
  // Where a pattern may begin whose second slash has not come.
  let start = Infinity;
  for (const part of text.split(',')) {
    keys.push(part);
    const slashes = part.replaceAll(/\\[^]/g, '').split('/').length - 1;
    if (slashes === 0) continue;
    const joined = keys.slice(start).join(',');
    const isPattern = patternOfKey(joined.trim()) !== undefined;
    if (isPattern) keys.splice(start, Infinity, joined);
    start = !isPattern && slashes === 1 && part.trimStart().startsWith('/') ? keys.length - 1 : Infinity;
  }
  return keys;
}

/** An entry by one of `aliases`; undefined: disabled or empty. Only a pattern that RE2 lacks refuses it. */
export async function readLorebookEntry(entry: unknown, note: Note): Promise<ReadResult<KnowledgeEntry | undefined>> {
  const skipped = { ok: true, value: undefined } as const;
  const members = new EntryMembers(isObject(entry) ? entry : {}, note);
  if (members.boolean('disable') === true || members.boolean('enabled') === false) return skipped;
  const content = members.text('content') ?? '';
  const text = content.replace(/^(?:@@[^\n]*\n)+/, '');
  if (text !== content) note('', 'has decorators (lines with @@), which are not used');
  if (text.trim() === '') {
    note('', isObject(entry) ? 'has no content, and is left out' : 'must be an object, and is left out');
    return skipped;
  }
  members.noteOthers();
  const [keys, secondary] = [members.keys('keys'), members.keys('secondary')];
  const errors = await patternErrors([...keys, ...secondary], '; rewrite it, or disable the entry');
  if (errors.length > 0) return { ok: false, errors };
  const [always, keysOnly] = [members.boolean('constant') ?? false, members.boolean('vectorized') !== true];
  if (keys.length === 0 && !always && keysOnly) note('', 'has no key and is not constant: only vectors can find it');
  const read = members.boolean('useregex') === true ? patternOf : async (key: string): Promise<string> => key;
  const rules = {
    ...readRules(members),
    secondary: members.boolean('selective') === false ? [] : await Promise.all(secondary.map(([key]) => read(key))),
    // Only NovelAI has it.
    joinsKeys: isObject(entry) && 'contextConfig' in entry,
  };
  const title = members.text('title') ?? '';
  return {
    ok: true,
    value: {
      id: members.text('id') ?? '',
      text,
      metadata: title === '' ? {} : { comment: title },
      keys: await Promise.all(keys.map(([key]) => read(key))),
      always,
      keysOnly,
      ...(JSON.stringify(rules) === JSON.stringify(defaultRules) ? {} : { rules }),
    },
  };
}

function readRules(members: EntryMembers): Omit<LoreRules, 'secondary' | 'joinsKeys'> {
  const isSelective = members.boolean('selective') !== false;
  const probability =
    members.number('probability', 'a number of 0 to 100', (value) => value >= 0 && value <= 100) ?? 100;
  const logic = members.number('selectivelogic', 'one of 0 to 3', (value) => value in logics) ?? 0;
  return {
    logic: (isSelective && logics[logic]) || defaultRules.logic,
    isCaseSensitive: members.boolean('casesensitive') ?? false,
    partsOfWords: members.boolean('matchwholewords') === false,
    probability: members.boolean('useprobability') === false ? 100 : probability,
    order: members.number('order') ?? defaultRules.order,
    depth: members.number('scandepth', 'a number from 1', (value) => value >= 1),
  };
}

/** A key of an entry whose keys are patterns without slashes: it may be a text as well, and without symbols is one only. */
async function patternOf(key: string): Promise<string> {
  const pattern = `/${escapePattern(key)}|${key.replaceAll(/\\[^]|\//g, (part) => (part === '/' ? '\\/' : part))}/i`;
  const isText = !/[\\^$*?()[\]{}|]|\.\+/.test(key) || key.startsWith('/');
  return isText || (await patternErrors([[pattern, '']])).length > 0 ? key : pattern;
}
