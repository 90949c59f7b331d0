import { commonPrefixLength } from '../../base/commonPrefix.ts';
import { reservedNames } from './compileTemplate.ts';
import { JinjaTemplate } from './jinja/template.ts';
import { type RenderTemplate, type TemplateMessage, unlessRefused } from './templateInput.ts';
import { Scope } from './jinja/evaluate.ts';
import type { AssignmentTarget, Expression, MacroParameter, Statement } from './jinja/syntax/ast.ts';

/** The variable of a chat template that controls reasoning. */
export interface ThinkingVariable {
  readonly name: string;
  /** Its value for reasoning; undefined: the variable is left out. */
  readonly on: boolean | string | undefined;
  /** Its value for no reasoning, or for the least. */
  readonly off: boolean | string | number;
  /** Whether `off` turns reasoning off; else it only makes it shorter. */
  readonly canBeOff: boolean;
}

/**
 * Finds the variable that controls reasoning, among those that the template reads and its caller can set: the values true
 * and false, of a budget 0, or one of the levels of effort must change the prompt of a small conversation. Undefined
 * where there is none.
 * @param source of the template; it must be valid.
 * @param render the same template.
 */
export function findThinkingVariable(source: string, render: RenderTemplate): ThinkingVariable | undefined {
  const prompts = smallPrompts(render);
  const names = freeVariables(new JinjaTemplate(source).statements).filter((name) => !reservedNames.has(name));
  const speaking = names.filter((name) => thinkingWord.test(name));
  const others = names.filter((name) => !thinkingWord.test(name));
  // Such a template takes true for a number or a level, and prints it.
  const switches = speaking.filter((name) => !/budget|effort|level/i.test(name));
  const budgets = speaking.filter((name) => /budget/i.test(name));
  const levels = speaking.filter((name) => !/budget/i.test(name));
  return (
    first(switches, (name) => asSwitch(name, prompts)) ??
    first(budgets, (name) => asBudget(name, prompts)) ??
    first(levels, (name) => asEffort(name, prompts)) ??
    first(others, (name) => (changesThinking(name, prompts) ? asSwitch(name, prompts) : undefined))
  );
}

/** The variables that set a variable for reasoning on or off; none where the template has none. */
export function thinkingVariables(
  variable: ThinkingVariable | undefined,
  thinking: boolean | undefined,
): Readonly<Record<string, unknown>> {
  if (!variable || thinking === undefined) return {};
  const value = thinking ? variable.on : variable.off;
  return value === undefined ? {} : { [variable.name]: value };
}

const thinkingWord = /think|thought|reason|effort/i;

/** From the least to the most. Templates that know the first two reason not at all with them. */
const efforts = ['none', 'minimal', 'low', 'medium', 'high'];
const usualEfforts = ['low', 'medium', 'high'];

const first = (
  names: readonly string[],
  find: (name: string) => ThinkingVariable | undefined,
): ThinkingVariable | undefined => names.map(find).find((found) => found !== undefined);

function asSwitch(name: string, prompts: SmallPrompts): ThinkingVariable | undefined {
  const [on, off] = [prompts.with(name, true), prompts.with(name, false)];
  // A template that only prints the value expects another one.
  if (!on || !off || withoutValues(on) === withoutValues(off)) return undefined;
  return { name, on: true, off: false, canBeOff: true };
}

function asBudget(name: string, prompts: SmallPrompts): ThinkingVariable | undefined {
  const [usual, none] = [prompts.usual, prompts.with(name, 0)];
  if (!usual || !none || usual.tail === none.tail) return undefined;
  return { name, on: undefined, off: 0, canBeOff: true };
}

function asEffort(name: string, prompts: SmallPrompts): ThinkingVariable | undefined {
  const rendered = efforts.flatMap((value) => {
    const prompt = prompts.with(name, value);
    return prompt ? [{ value, prompt }] : [];
  });
  const reference = rendered.find(({ value }) => value === 'medium') ?? rendered.at(-1);
  if (!reference) return undefined;
  // A level that is only printed is perhaps unknown; a template that refuses one knows the others.
  const refusesUnknown = rendered.length < efforts.length;
  const known = rendered.filter(
    ({ value, prompt }) =>
      refusesUnknown || usualEfforts.includes(value) || withoutValues(prompt) !== withoutValues(reference.prompt),
  );
  const [least] = known;
  // A level is there to be printed; what has another name must change more.
  const textOf = /effort|level|reasoning/i.test(name) ? ({ text }: SmallPrompt) => text : withoutValues;
  if (!least || known.every(({ prompt }) => textOf(prompt) === textOf(least.prompt))) return undefined;
  // Where the model goes on: a level that turns reasoning off writes its end, or leaves its start out.
  const off = known.find(({ prompt }) => prompt.tail !== reference.prompt.tail);
  const usual = known.find(({ value, prompt }) => value !== off?.value && prompt.text === prompts.usual?.text);
  return { name, on: (usual ?? reference).value, off: (off ?? least).value, canBeOff: off !== undefined };
}

function changesThinking(name: string, prompts: SmallPrompts): boolean {
  const [on, off] = [prompts.with(name, true), prompts.with(name, false)];
  if (!on || !off) return false;
  const start = commonPrefixLength(on.text, off.text);
  let end = 0;
  while (end < Math.min(on.text.length, off.text.length) - start && on.text.at(-1 - end) === off.text.at(-1 - end))
    end++;
  return [on, off].some(({ text }) => thinkingWord.test(text.slice(start, text.length - end)));
}

const printedValue = new RegExp(String.raw`\b(?:true|false|${efforts.join('|')})\b`, 'gi');

const withoutValues = ({ text }: SmallPrompt): string => text.replace(printedValue, '');

interface SmallPrompt {
  /** All of them together. */
  readonly text: string;
  /** What follows the question in the last of them. */
  readonly tail: string;
}

const question = 'Probe of a question.';
const user: TemplateMessage = { role: 'user', content: question };
const system: TemplateMessage = { role: 'system', content: 'Probe of a rule.' };

interface SmallPrompts {
  /** Without any variable. */
  readonly usual: SmallPrompt | undefined;
  /** With one variable; undefined where the template refuses its value. */
  with(name: string, value: unknown): SmallPrompt | undefined;
}

function smallPrompts(render: RenderTemplate): SmallPrompts {
  const prompt = (conversations: readonly (readonly TemplateMessage[])[], variables = {}): SmallPrompt | undefined => {
    const texts = unlessRefused(() => conversations.map((messages) => render({ messages, variables })));
    const last = texts?.at(-1) ?? '';
    return texts && { text: texts.join('\n'), tail: last.slice(last.lastIndexOf(question) + question.length) };
  };
  // A system message can replace words about reasoning; some templates refuse it.
  const conversations = [[system, user], [user]].filter((messages) => prompt([messages]) !== undefined);
  return { usual: prompt(conversations), with: (name, value) => prompt(conversations, { [name]: value }) };
}

/** The variables that a template reads before it assigns them, as first read; functions such as `range` are, too. */
export function freeVariables(statements: readonly Statement[]): readonly string[] {
  const free = new Set<string>();
  visitAll(statements, scopeWith([]), free);
  return [...free];
}

function scopeWith(names: readonly string[], outer?: Scope): Scope {
  const scope = new Scope(outer);
  for (const name of names) scope.set(name, true);
  return scope;
}

/** Visits statements in order; adds what they assign to `assigned`, and what they read before to `free`. */
function visitAll(statements: readonly Statement[], assigned: Scope, free: Set<string>): void {
  for (const statement of statements) visit(statement, assigned, free);
}

function visit(statement: Statement, assigned: Scope, free: Set<string>): void {
  const read = (part: unknown): void => readAll(part, assigned, free);
  const visitBlock = (body: readonly Statement[], ...names: readonly string[]): void =>
    visitAll(body, scopeWith(names, assigned), free);
  switch (statement.type) {
    case 'output':
      return read(statement.value);
    case 'if':
      for (const { test, body } of statement.branches) {
        read(test);
        visitAll(body, assigned, free);
      }
      return visitAll(statement.otherwise, assigned, free);
    case 'for': {
      read(statement.iterable);
      const names = ['loop', ...targetNames(statement.target)];
      readAll(statement.test, scopeWith(names, assigned), free);
      visitBlock(statement.body, ...names);
      return visitBlock(statement.otherwise);
    }
    case 'set':
      read(statement.value);
      return assign(statement.target, assigned, free);
    case 'setBlock':
      visitBlock(statement.body);
      read(statement.filters);
      return assign(statement.target, assigned, free);
    case 'macro':
      assigned.set(statement.name, true);
      return visitMacro(statement.parameters, statement.body, assigned, free);
    case 'callBlock':
      read(statement.call);
      return visitMacro(statement.parameters, statement.body, assigned, free);
    case 'filterBlock':
      read(statement.filters);
      return visitBlock(statement.body);
    case 'with':
      for (const { value } of statement.assignments) read(value);
      return visitBlock(statement.body, ...statement.assignments.flatMap(({ target }) => targetNames(target)));
    case 'text':
    case 'break':
    case 'continue':
      return undefined;
    default:
      return statement satisfies never;
  }
}

function visitMacro(
  parameters: readonly MacroParameter[],
  body: readonly Statement[],
  assigned: Scope,
  free: Set<string>,
): void {
  const names = ['caller', 'varargs', 'kwargs', ...parameters.map(({ name }) => name)];
  const inner = scopeWith(names, assigned);
  for (const { fallback } of parameters) readAll(fallback, inner, free);
  visitAll(body, inner, free);
}

/** The names that a target assigns; an attribute of a namespace assigns none. */
const targetNames = (target: AssignmentTarget): readonly string[] =>
  target.type === 'name' ? [target.name] : target.type === 'tuple' ? target.items.flatMap(targetNames) : [];

function assign(target: AssignmentTarget, assigned: Scope, free: Set<string>): void {
  if (target.type === 'namespace' && assigned.find(target.name) === undefined) free.add(target.name);
  for (const name of targetNames(target)) assigned.set(name, true);
}

/** Adds the names that are read anywhere in a part of an expression: an expression, its arguments, or a list of parts. */
function readAll(part: unknown, assigned: Scope, free: Set<string>): void {
  if (typeof part !== 'object' || part === null) return;
  const { type, name } = part as Partial<Expression & { readonly type: 'name' }>;
  if (type === 'name' && name !== undefined && assigned.find(name) === undefined) free.add(name);
  // The members of an expression are in the order in which it reads them.
  for (const inner of Object.values(part)) readAll(inner, assigned, free);
}
