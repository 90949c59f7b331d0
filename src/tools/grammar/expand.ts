import { expandJsonRule } from './anyJson.ts';
import { text, type ManyRule, type MembersRule, type Rule } from './rule.ts';

/** Rules that are to come, the first on top; undefined is the end of the text. */
export type Stack = { readonly rule: Rule; readonly next: Stack } | undefined;

/** Puts rules on a stack, the first on top. */
export const push = (rules: readonly Rule[], below: Stack): Stack =>
  rules.reduceRight<Stack>((next, rule) => ({ rule, next }), below);

/** All stacks that begin with a character, and the end, that stacks come to without a character being read. */
export function expand(stacks: Iterable<Stack>): ReadonlySet<Stack> {
  const open = new Set<Stack>();
  // Those that share what follows share the object, so that each is unfolded once however many ways lead there.
  const seen = new Set<Stack>();
  const visit = (stack: Stack): void => {
    if (seen.has(stack)) return;
    seen.add(stack);
    const inner = stack && expandRule(stack.rule, stack.next);
    if (inner) inner.forEach(visit);
    else open.add(stack);
  };
  for (const stack of stacks) visit(stack);
  return open;
}

function expandRule(rule: Rule, next: Stack): readonly Stack[] | undefined {
  switch (rule.kind) {
    case 'char':
      return undefined;
    case 'text':
      return rule.text === '' ? [next] : undefined;
    case 'all':
      return [push(rule.rules, next)];
    case 'any':
      return rule.rules.map((one) => ({ rule: one, next }));
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
  const end = min > 0 ? [] : [next];
  if (max !== undefined && max <= 0) return end;
  const rest: ManyRule = { ...rule, min: min - 1, ...(max !== undefined && { max: max - 1 }), isStarted: true };
  return [...end, push([text(isStarted ? separator : ''), rule.rule, rest], next)];
}

function expandMembers({ members, isStarted }: MembersRule, next: Stack): readonly Stack[] {
  const [first, ...others] = members;
  if (!first) return [next];
  const key = text(`${isStarted ? ', ' : ''}${JSON.stringify(first.key)}: `);
  const taken = push([key, first.rule, { kind: 'members', members: others, isStarted: true }], next);
  const left: Stack = { rule: { kind: 'members', members: others, ...(isStarted && { isStarted }) }, next };
  return first.required ? [taken] : [taken, left];
}
