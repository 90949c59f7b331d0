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
  const tree = prefixTree(literals.map((literal) => avoided(literal, firsts)));
  if (children(tree).length === 0) return many(plain, { min });
  const begun = beginning(tree, firsts);
  const beginnings = begun ? [many(begun, { min: 0 })] : [];
  const broken = all(...beginnings, mismatch(tree, firsts));
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

/** Literals by their next character; after the last character of a literal there are no entries. */
type PrefixTree = Map<string, PrefixTree>;

function prefixTree(literals: readonly (readonly string[])[]): PrefixTree {
  const root: PrefixTree = new Map();
  // The shortest first: a text without it has no literal that begins with it either.
  for (const literal of literals.toSorted((a, b) => a.length - b.length)) insert(root, literal);
  return root;
}

function insert(root: PrefixTree, literal: readonly string[]): void {
  let node = root;
  for (const character of literal) {
    const known = node.get(character);
    if (known?.size === 0) return;
    const child = known ?? new Map<string, PrefixTree>();
    node.set(character, child);
    node = child;
  }
}

/** A literal up to the second of its characters with which a literal begins. */
function avoided(literal: string, firsts: ReadonlySet<string>): readonly string[] {
  const characters = [...literal];
  const second = characters.findIndex((character, index) => index > 0 && firsts.has(character));
  return second < 0 ? characters : characters.slice(0, second + 1);
}

/** The beginning of a literal, where another beginning or the end of the text may follow; undefined: there is none. */
function beginning(tree: PrefixTree, firsts: ReadonlySet<string>): Rule | undefined {
  const rules = children(tree).flatMap(([character, child]): readonly Rule[] => {
    const longer = beginning(child, firsts);
    // Another beginning could complete the literal.
    const isLongerOnly = [...firsts].some((first) => child.has(first));
    if (!longer) return isLongerOnly ? [] : [text(character)];
    return [all(text(character), isLongerOnly ? longer : optional(longer))];
  });
  return rules.length > 0 ? anyOf(rules) : undefined;
}

/** The beginning of a literal, and a character that neither continues it nor begins another one. */
function mismatch(tree: PrefixTree, firsts: ReadonlySet<string>): Rule {
  return anyOf(
    children(tree).map(([character, child]) => {
      const other = charExcept(new Set([...firsts, ...child.keys()]));
      const deeper = children(child).length > 0 ? [mismatch(child, firsts)] : [];
      return all(text(character), anyOf([other, ...deeper]));
    }),
  );
}

/** The entries of a tree that are no last characters of a literal. */
const children = (tree: PrefixTree): readonly (readonly [string, PrefixTree])[] =>
  [...tree].filter(([, child]) => child.size > 0);
