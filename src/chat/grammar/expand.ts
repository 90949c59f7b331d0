import { memoized } from '../../base/memoized.ts';
import { all, type ManyRule, type Member, type MembersRule, type Rule, text } from './rule.ts';
import { expandJsonRule } from './jsonRules.ts';

/** The stack of a pushdown automaton: the rules still to be matched, the next one on top; undefined is the end of the text. */
export type Stack = { readonly rule: Rule; readonly next: Stack } | undefined;

/** Pushes rules on a stack; the first one will be on top. */
const push = (rules: readonly Rule[], stack: Stack): Stack =>
  rules.reduceRight<Stack>((next, rule) => ({ rule, next }), stack);

/**
 * Expands rules until a terminal (a character class or a literal) is on top of each stack: the epsilon closure of a
 * nondeterministic pushdown automaton. The result contains undefined when the text may end.
 *
 * | rule on top | is replaced by                                                        |
 * | ----------- | --------------------------------------------------------------------- |
 * | `all`       | its rules, in order                                                   |
 * | `any`       | one stack for each alternative                                        |
 * | `many`      | nothing if `min` is 0; separator, rule and the remaining repetitions  |
 * | `members`   | the first member and the rest; only the rest if it is optional        |
 * | `json`      | the rule for any JSON of that depth                                   |
 */
export function expand(stacks: Iterable<Stack>): ReadonlySet<Stack> {
  const expanded = new Set<Stack>();
  // Stacks share their tails as objects, so each tail is expanded once, however many alternatives lead to it.
  const visited = new Set<Stack>();
  // A list and no recursion: a choice of thousands would overflow the call stack. The next one is the last.
  const pending = [...stacks].reverse();
  while (pending.length > 0) {
    const stack = pending.pop();
    if (visited.has(stack)) continue;
    visited.add(stack);
    const replacements = stack && replaceTop(stack.rule, stack.next);
    if (!replacements) expanded.add(stack);
    else for (let index = replacements.length - 1; index >= 0; index--) pending.push(replacements[index]);
  }
  return expanded;
}

/** The stacks that replace a stack with this rule on top; undefined: the rule is a terminal. */
function replaceTop(rule: Rule, next: Stack): readonly Stack[] | undefined {
  switch (rule.kind) {
    case 'char':
      return undefined;
    case 'text':
      return rule.text === '' ? [next] : undefined;
    case 'all':
      return [push(rule.rules, next)];
    case 'any':
      return rule.rules.map((alternative) => ({ rule: alternative, next }));
    case 'many':
      return expandMany(rule, next);
    case 'members':
      return expandMembers(rule, next);
    case 'json':
      return [{ rule: expandJsonRule(rule), next }];
    default:
      return rule satisfies never;
  }
}

function expandMany(rule: ManyRule, next: Stack): readonly Stack[] {
  const { min, max, separator = '', isStarted } = rule;
  const ended = min > 0 ? [] : [next];
  if (max !== undefined && max <= 0) return ended;
  const isEndless = isStarted && min === 0 && max === undefined;
  const repetition = [rule.rule, isEndless ? rule : afterOne(rule)];
  return [...ended, push(isStarted && separator !== '' ? [text(separator), ...repetition] : repetition, next)];
}

function expandMembers(rule: MembersRule, next: Stack): readonly Stack[] {
  const { members, from = 0, isStarted = false, nonEmpty = false } = rule;
  const first = members[from];
  if (!first) return nonEmpty && !isStarted ? [] : [next];
  const before = isStarted ? beforeValueAfter(rule.separator ?? memberSeparator)(first) : beforeValue(first);
  const present = push([before, first.rule, membersFrom(rule, from + 1, true)], next);
  return first.required ? [present] : [present, { rule: membersFrom(rule, from + 1, isStarted), next }];
}

/** What is left of a repetition after one more. The same object for the same rule, so that it is expanded and written once. */
const afterOne = memoized(({ min, max, ...rule }: ManyRule): ManyRule => ({
  ...rule,
  min: Math.max(0, min - 1),
  ...(max !== undefined && { max: max - 1 }),
  isStarted: true,
}));

/** The members from an index on. The same object for the same members, index and `isStarted`. */
function membersFrom(rule: MembersRule, from: number, isStarted: boolean): MembersRule {
  const known = positionsIn(rule.members);
  const key = 2 * from + (isStarted ? 1 : 0);
  const remaining = known.get(key) ?? { ...rule, from, isStarted };
  known.set(key, remaining);
  return remaining;
}

const positionsIn = memoized((_members: readonly Member[]) => new Map<number, MembersRule>());

/** What stands before the value of a member that is the first one of an object. */
export const beforeValue = memoized(({ before, key }: Member): Rule => before ?? text(`${JSON.stringify(key)}: `));

/** The same, with the separator after the member before it. */
const beforeValueAfter = memoized((separator: Rule) =>
  memoized((member: Member) => joined(separator, beforeValue(member))),
);

/** What stands between two members of a JSON object. */
export const memberSeparator = text(', ');

// One literal has fewer steps than two.
const joined = (first: Rule, second: Rule): Rule =>
  first.kind === 'text' && second.kind === 'text' && !first.control && !second.control
    ? text(first.text + second.text)
    : all(first, second);
