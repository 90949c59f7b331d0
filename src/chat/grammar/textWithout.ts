import { all, anyOf, many, optional, text, type CharRule, type ManyRule, type Range, type Rule } from './rule.ts';
import { firstOf } from './prefixTree.ts';

/**
 * Any text in which none of some literals occurs: line breaks, tabs and all characters that are no control characters.
 * It may end in the beginning of a literal. Limits count characters.
 *
 * What it forbids beyond that: a literal in which the first character of one of them comes again counts as if it ended
 * there (`"""` as `"`); a text with a largest length has no first character of a literal at all; one with a smallest
 * length counts the beginning of a literal in it, and the character after it, as one character.
 */
export function textWithout(literals: readonly string[], { min, max }: Pick<ManyRule, 'min' | 'max'>): Rule {
  const firsts = new Set(literals.map(firstOf));
  const plain = charExcept(firsts);
  if (max !== undefined) return many(plain, { min, max });
  const avoided = literals.map((literal) => upToSecond(literal, firsts));
  if (continuations(avoided).length === 0) return many(plain, { min });
  const begun = beginning(avoided, firsts);
  const beginnings = begun ? [many(begun, { min: 0 })] : [];
  const broken = all(...beginnings, mismatch(avoided, firsts));
  return all(many(anyOf([plain, broken]), { min }), ...beginnings);
}

/** Characters of a text, without control characters that are no white space and without halves of surrogate pairs. */
const textRanges: readonly Range[] = [
  [0x09, 0x0a],
  [0x0d, 0x0d],
  [0x20, 0xd7ff],
  [0xe000, 0x10ffff],
];

/** Any character of a text but some. */
export function charExcept(characters: Iterable<string>): CharRule {
  let ranges = textRanges;
  for (const character of characters) {
    const code = character.codePointAt(0) ?? 0;
    ranges = ranges.flatMap(([first, last]): readonly Range[] => {
      if (code < first || code > last) return [[first, last]];
      return [
        ...(first < code ? [[first, code - 1] as const] : []),
        ...(code < last ? [[code + 1, last] as const] : []),
      ];
    });
  }
  return { kind: 'char', ranges };
}

/** Literals, or what is left of them after the same beginning, as characters. */
type Rests = readonly (readonly string[])[];

/** What may follow the first characters of literals that have more than one. */
function continuations(literals: Rests): readonly (readonly [first: string, rests: Rests])[] {
  const rests = new Map<string, Rests>();
  for (const [first = '', ...rest] of literals) rests.set(first, [...(rests.get(first) ?? []), rest]);
  // A text without a literal has none that begins with it either.
  return [...rests].filter(([, others]) => others.every(({ length }) => length > 0));
}

/** A literal up to the second of its characters with which a literal begins. */
function upToSecond(literal: string, firsts: ReadonlySet<string>): readonly string[] {
  const characters = [...literal];
  const second = characters.findIndex((character, index) => index > 0 && firsts.has(character));
  return second < 0 ? characters : characters.slice(0, second + 1);
}

/** The beginning of a literal, where another beginning or the end of the text may follow; undefined: there is none. */
function beginning(literals: Rests, firsts: ReadonlySet<string>): Rule | undefined {
  const rules = continuations(literals).flatMap(([character, rests]): readonly Rule[] => {
    const longer = beginning(rests, firsts);
    // Another beginning could complete the literal.
    const isLongerOnly = rests.some(([next = '']) => firsts.has(next));
    if (!longer) return isLongerOnly ? [] : [text(character)];
    return [all(text(character), isLongerOnly ? longer : optional(longer))];
  });
  return rules.length > 0 ? anyOf(rules) : undefined;
}

/** The beginning of a literal, and a character that neither continues it nor begins another one. */
function mismatch(literals: Rests, firsts: ReadonlySet<string>): Rule {
  return anyOf(
    continuations(literals).map(([character, rests]) => {
      const other = charExcept(new Set([...firsts, ...rests.map(([next = '']) => next)]));
      const deeper = continuations(rests).length > 0 ? [mismatch(rests, firsts)] : [];
      return all(text(character), anyOf([other, ...deeper]));
    }),
  );
}
