import { all, text, type ManyRule, type Member, type MembersRule, type Rule } from './rule.ts';

/** What is left of a repetition after one more. The same object for the same rule, so that it is expanded and written once. */
export function remainingRepetitions(rule: ManyRule): ManyRule {
  const { min, max, isStarted } = rule;
  if (isStarted && min === 0 && max === undefined) return rule;
  return memoize(repetitions, rule, () => ({
    ...rule,
    min: Math.max(0, min - 1),
    ...(max !== undefined && { max: max - 1 }),
    isStarted: true,
  }));
}

/** The members from an index on. The same object for the same members, index and `isStarted`. */
export function membersFrom(rule: MembersRule, from: number, isStarted: boolean): MembersRule {
  const known = memoize(positions, rule.members, () => new Map<number, MembersRule>());
  const key = 2 * from + (isStarted ? 1 : 0);
  const remaining = known.get(key) ?? { ...rule, from, isStarted };
  known.set(key, remaining);
  return remaining;
}

/** What stands before the value of a member that is the first one of an object. */
export const beforeValue = (member: Member): Rule =>
  member.before ?? memoize(keys, member, () => text(`${JSON.stringify(member.key)}: `));

/** The same, with the separator after the member before it. */
export const separatorAndBefore = ({ separator }: MembersRule, member: Member): Rule =>
  memoize(startedKeys, member, () => joined(separator ?? memberSeparator, beforeValue(member)));

/** What stands between two members of a JSON object. */
export const memberSeparator = text(', ');

// One literal has fewer steps than two.
const joined = (first: Rule, second: Rule): Rule =>
  first.kind === 'text' && second.kind === 'text' && !first.control && !second.control
    ? text(first.text + second.text)
    : all(first, second);

const repetitions = new WeakMap<ManyRule, ManyRule>();
const positions = new WeakMap<readonly Member[], Map<number, MembersRule>>();
const keys = new WeakMap<Member, Rule>();
const startedKeys = new WeakMap<Member, Rule>();

function memoize<K extends object, V>(cache: WeakMap<K, V>, key: K, create: () => V): V {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = create();
  cache.set(key, value);
  return value;
}
