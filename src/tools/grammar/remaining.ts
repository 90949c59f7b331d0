import { text, type ManyRule, type Member, type MembersRule, type TextRule } from './rule.ts';

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
export function membersFrom(members: readonly Member[], from: number, isStarted: boolean): MembersRule {
  const known = memoize(positions, members, () => new Map<number, MembersRule>());
  const key = 2 * from + (isStarted ? 1 : 0);
  const rule = known.get(key) ?? { kind: 'members', members, from, isStarted };
  known.set(key, rule);
  return rule;
}

/** The literal before the value of a member, as the first member of an object. */
export const keyText = (member: Member): TextRule =>
  memoize(keys, member, () => text(`${JSON.stringify(member.key)}: `));

/** The same, with the comma after the member before it. */
export const startedKeyText = (member: Member): TextRule =>
  memoize(startedKeys, member, () => text(`${memberSeparator}${keyText(member).text}`));

/** Literal between two members. */
export const memberSeparator = ', ';

const repetitions = new WeakMap<ManyRule, ManyRule>();
const positions = new WeakMap<readonly Member[], Map<number, MembersRule>>();
const keys = new WeakMap<Member, TextRule>();
const startedKeys = new WeakMap<Member, TextRule>();

function memoize<K extends object, V>(cache: WeakMap<K, V>, key: K, create: () => V): V {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const value = create();
  cache.set(key, value);
  return value;
}
