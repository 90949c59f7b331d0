import { spelledOut } from './anyJson.ts';
import { text, type ManyRule, type MembersRule, type Rule } from './rule.ts';

/** Rules that are to come, the first on top; undefined is the end of the text. */
export type Stack = { readonly rule: Rule; readonly next: Stack } | undefined;

/** Puts rules on a stack, the first on top. */
export const stacked = (rules: readonly Rule[], below: Stack): Stack =>
  rules.reduceRight<Stack>((next, rule) => ({ rule, next }), below);

/** All stacks that begin with a character, and the end, that stacks come to without a character being read. */
export function unfold(stacks: Iterable<Stack>): ReadonlySet<Stack> {
  const open = new Set<Stack>();
  // Those that share what follows share the object, so that each is unfolded once however many ways lead there.
  const seen = new Set<Stack>();
  const visit = (stack: Stack): void => {
    if (seen.has(stack)) return;
    seen.add(stack);
    const inner = stack && unfolded(stack.rule, stack.next);
    if (inner) inner.forEach(visit);
    else open.add(stack);
  };
  for (const stack of stacks) visit(stack);
  return open;
}

function unfolded(rule: Rule, next: Stack): readonly Stack[] | undefined {
  switch (rule.kind) {
    case 'char':
      return undefined;
    case 'text':
      return rule.text === '' ? [next] : undefined;
    case 'all':
      return [stacked(rule.rules, next)];
    case 'any':
      return rule.rules.map((one) => ({ rule: one, next }));
    case 'many':
      return ofMany(rule, next);
    case 'members':
      return ofMembers(rule, next);
    case 'json':
      return [{ rule: spelledOut(rule), next }];
    default:
      return rule satisfies never;
  }
}

function ofMany(rule: ManyRule, next: Stack): readonly Stack[] {
  const { least, most, between = '', begun } = rule;
  const end = least > 0 ? [] : [next];
  if (most !== undefined && most <= 0) return end;
  const rest: ManyRule = { ...rule, least: least - 1, ...(most !== undefined && { most: most - 1 }), begun: true };
  return [...end, stacked([text(begun ? between : ''), rule.rule, rest], next)];
}

function ofMembers({ members, begun }: MembersRule, next: Stack): readonly Stack[] {
  const [first, ...others] = members;
  if (!first) return [next];
  const key = text(`${begun ? ', ' : ''}${JSON.stringify(first.key)}: `);
  const taken = stacked([key, first.rule, { kind: 'members', members: others, begun: true }], next);
  const left: Stack = { rule: { kind: 'members', members: others, ...(begun && { begun }) }, next };
  return first.required ? [taken] : [taken, left];
}
