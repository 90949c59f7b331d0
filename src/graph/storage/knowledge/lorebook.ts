import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult } from '../../../protocol/schema.ts';
import { readPatternKey } from '../patternSet.ts';
import { canMatch, defaultRules, type KnowledgeEntry, type LoreRules, logics } from './knowledge.ts';

/** Is told what of an entry is not used. @param problem what its member at the pointer is, without its place. */
export type Note = (pointer: string, problem: string) => void;

/** Names of the same member in the books of SillyTavern, character cards, NovelAI, RisuAI and Agnai, without case and `_`. */
const aliases = {
  id: ['uid', 'id'],
  keys: ['key', 'keys', 'keywords'],
  secondary: ['keysecondary', 'secondarykeys', 'secondkey'],
  title: ['comment', 'name', 'displayname'],
  content: ['content', 'entry', 'text'],
  disable: ['disable'],
  enabled: ['enabled'],
  constant: ['constant', 'alwaysactive', 'forceactivation'],
  selective: ['selective'],
  logic: ['selectivelogic'],
  caseSensitive: ['casesensitive'],
  wholeWords: ['matchwholewords'],
  useProbability: ['useprobability'],
  probability: ['probability', 'activationpercent'],
  order: ['order', 'insertionorder', 'insertorder', 'weight', 'budgetpriority'],
  depth: ['scandepth'],
  isPattern: ['useregex'],
} as const;

/** Members that change nothing about which entries come, or that hold the others. */
const harmless = new Set(
  `addmemo bookversion category comment contextconfig createdat displayindex displayname extensions folder id
  lastupdatedat name uid`.split(/\s+/),
);
/** Values with which members have no effect in the programs that know them. */
const inert: ReadonlyMap<string, readonly unknown[]> = new Map([
  ['depth', [4]],
  ['groupweight', [100]],
  ['mode', ['normal']],
  ['position', ['before_char']],
]);

const isInert = (name: string, value: unknown): boolean =>
  value === false ||
  value === '' ||
  value === 0 ||
  inert.get(name)?.includes(value) === true ||
  (value instanceof Object && Object.values(value).every((item) => item === null || isInert('', item)));

const plainName = (name: string): string => name.replaceAll('_', '').toLowerCase();

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
    for (const [holder, prefix] of [
      ['contextConfig', '/contextConfig'],
      ['extensions', '/extensions'],
      ['', ''],
    ] as const) {
      const held = holder === '' ? entry : entry[holder];
      for (const [name, value] of Object.entries(isObject(held) ? held : {}))
        if (value !== null) this.#members.set(plainName(name), { pointer: `${prefix}/${name}`, value });
    }
  }

  /** Notes the members that nothing reads. */
  noteOthers(): void {
    const known = new Set<string>(Object.values(aliases).flat());
    for (const [name, { pointer, value }] of this.#members)
      if (!known.has(name) && !harmless.has(name) && !isInert(name, value)) this.#note(pointer, 'is not used');
  }

  boolean(name: keyof typeof aliases): boolean | undefined {
    return this.#read(name, 'true or false', (value) => {
      const text = String(value).toLowerCase();
      return text === 'true' || value === 1 ? true : text === 'false' || value === 0 ? false : undefined;
    });
  }

  number(name: keyof typeof aliases): number | undefined {
    return this.#read(name, 'a number', (value) => {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
      return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
    });
  }

  text(name: keyof typeof aliases): string | undefined {
    return this.#read(name, 'a string', (value) =>
      typeof value === 'string' || typeof value === 'number' ? String(value) : undefined,
    );
  }

  /** A list of texts, or one text with commas, each with its pointer. */
  keys(name: 'keys' | 'secondary'): readonly (readonly [key: string, pointer: string])[] {
    const member = this.#find(name);
    const list = this.#read(name, 'a list of strings', (value) =>
      typeof value === 'string' ? splitKeys(value) : Array.isArray(value) ? (value as unknown[]) : undefined,
    );
    return (list ?? []).flatMap((key: unknown, index) => {
      const pointer = Array.isArray(member?.value) ? `${member.pointer}/${index}` : (member?.pointer ?? '');
      if (typeof key === 'string' || typeof key === 'number') {
        const trimmed = String(key).trim();
        return trimmed === '' ? [] : [[trimmed, pointer] as const];
      }
      if (key !== null) this.#note(member?.pointer ?? '', 'has a key that is no string, which is left out');
      return [];
    });
  }

  #find(name: keyof typeof aliases): Member | undefined {
    return aliases[name].map((alias) => this.#members.get(alias)).find(Boolean);
  }

  #read<T>(name: keyof typeof aliases, what: string, read: (value: unknown) => T | undefined): T | undefined {
    const member = this.#find(name);
    const value = member && read(member.value);
    if (member && value === undefined) this.#note(member.pointer, `must be ${what}, and is left out`);
    return value;
  }
}

/** Keys with commas between them; a pattern may have commas in it. */
const splitKeys = (text: string): readonly string[] => {
  const keys: string[] = [];
  for (const part of text.split(',')) {
    const pattern = keys.length > 0 ? `${keys.at(-1)},${part}` : '';
    const isPattern = pattern.trim().startsWith('/') && readPatternKey(pattern.trim());
    if (isPattern && (!isPattern.ok || isPattern.value !== undefined)) keys[keys.length - 1] = pattern;
    else keys.push(part);
  }
  return keys;
};

/**
 * Reads an entry of a lorebook, as one of `aliases` writes it; undefined for one that is disabled or has no content. Its id is
 * "" if it has none. Only a regular expression that RE2 does not have refuses it.
 */
export function readLorebookEntry(entry: unknown, note: Note): ReadResult<KnowledgeEntry | undefined> {
  const skipped = { ok: true, value: undefined } as const;
  if (!isObject(entry)) {
    note('', 'must be an object, and is left out');
    return skipped;
  }
  const silent = new EntryMembers(entry, () => undefined);
  if (silent.boolean('disable') === true || silent.boolean('enabled') === false) return skipped;
  const members = new EntryMembers(entry, note);
  const content = members.text('content')?.replace(/^(?:@@[^\n]*\n)+/, '') ?? '';
  if (content.trim() === '') {
    note('', 'has no content, and is left out');
    return skipped;
  }
  for (const name of ['disable', 'enabled'] as const) members.boolean(name);
  members.noteOthers();
  const keys = members.keys('keys');
  const rules = readRules(members);
  for (const [key, pointer] of [...keys, ...rules.secondary]) {
    if (!canMatch(key)) note(pointer, 'has nothing that can be matched');
    const pattern = readPatternKey(key);
    const problem = pattern.ok ? undefined : `${pattern.errors[0]?.message}; rewrite it, or disable the entry`;
    if (problem !== undefined) return { ok: false, errors: [{ pointer, message: problem }] };
  }
  const id = members.text('id') ?? '';
  const title = members.text('title') ?? '';
  const isPattern = members.boolean('isPattern') === true;
  const read = ([key]: readonly [string, string]): string => (isPattern ? patternOf(key) : key);
  const { secondary, ...others } = rules;
  const lore: LoreRules = { ...others, secondary: secondary.map(read) };
  const isPlain = lore.secondary.length === 0 && otherRules.every((name) => lore[name] === defaultRules[name]);
  return {
    ok: true,
    value: {
      id,
      text: content,
      metadata: title === '' ? {} : { comment: title },
      keys: keys.map(read),
      always: members.boolean('constant') ?? false,
      ...(isPlain ? {} : { rules: lore }),
    },
  };
}

const otherRules = ['isCaseSensitive', 'partsOfWords', 'probability', 'order', 'depth'] as const;

function readRules(members: EntryMembers) {
  const isSelective = members.boolean('selective') ?? true;
  const hasChance = members.boolean('useProbability') ?? true;
  const secondary = members.keys('secondary');
  const [logic, probability, depth] = [members.number('logic'), members.number('probability'), members.number('depth')];
  return {
    secondary: isSelective ? secondary : [],
    logic: logics[logic ?? 0] ?? logics[0],
    isCaseSensitive: members.boolean('caseSensitive') ?? false,
    partsOfWords: members.boolean('wholeWords') === false,
    probability: hasChance ? (probability ?? defaultRules.probability) : defaultRules.probability,
    order: members.number('order') ?? defaultRules.order,
    depth: depth === undefined ? undefined : Math.max(1, depth),
  };
}

/** A key of an entry whose keys are patterns without slashes: those that could be texts as well stay texts. */
function patternOf(key: string): string {
  if (!/[\\^$*?()[\]{}|]/.test(key)) return key;
  const pattern = `/${key.replaceAll('/', '\\/')}/i`;
  return readPatternKey(key).ok && readPatternKey(pattern).ok ? pattern : key;
}
