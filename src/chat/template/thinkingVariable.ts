import { commonPrefixLength } from '../../base/commonPrefix.ts';
import { reservedNames } from './compileTemplate.ts';
import { JinjaTemplate } from './jinja/template.ts';
import { type RenderTemplate, type TemplateMessage, unlessRefused } from './templateInput.ts';
import { Scope } from './jinja/evaluate.ts';
import type { AssignmentTarget, Expression, Statement } from './jinja/syntax/ast.ts';

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

type SmallPrompts = ReturnType<typeof smallPrompts>;

function smallPrompts(render: RenderTemplate) {
  const prompt = (conversations: readonly (readonly TemplateMessage[])[], variables = {}): SmallPrompt | undefined => {
    const texts = unlessRefused(() => conversations.map((messages) => render({ messages, variables })));
    const last = texts?.at(-1) ?? '';
    return texts && { text: texts.join('\n'), tail: last.slice(last.lastIndexOf(question) + question.length) };
  };
  // A system message can replace words about reasoning; some templates refuse it.
  const conversations = [[system, user], [user]].filter((messages) => prompt([messages]) !== undefined);
  return {
    /** Without any variable. */
    usual: prompt(conversations),
    /** With one variable; undefined where the template refuses its value. */
    with: (name: string, value: unknown) => prompt(conversations, { [name]: value }),
  };
}

/** The variables that a template reads before it assigns them, as first read; functions such as `range` are, too. */
export function freeVariables(statements: readonly Statement[]): readonly string[] {
  const free = new Set<string>();
  readAll(statements, new Scope(), free);
  return [...free];
}

/**
 * Adds what a part of a template assigns to `assigned`, and what it reads before to `free`: a statement, an expression or
 * its arguments, or a list of parts. Their members are in the order in which they are read.
 */
function readAll(part: unknown, assigned: Scope, free: Set<string>): void {
  if (typeof part !== 'object' || part === null) return;
  const read = (inner: unknown): void => readAll(inner, assigned, free);
  const readName = (name: string): void => void (assigned.find(name) === undefined && free.add(name));
  const readInside = (names: readonly string[], ...parts: readonly unknown[]): void => {
    const inner = new Scope(assigned);
    for (const name of names) inner.set(name, true);
    readAll(parts, inner, free);
  };
  const node = part as Statement | Expression;
  switch (node.type) {
    case 'name':
      return readName(node.name);
    case 'block':
      return readInside([], node.body);
    case 'macro': {
      const names = node.parameters.map(({ name }) => name);
      return readInside(['caller', 'varargs', 'kwargs', ...names], node.parameters, node.body);
    }
    case 'for':
      read(node.iterable);
      readInside(['loop', ...targetNames(node.target)], node.test, node.body);
      return readInside([], node.otherwise);
    case 'with':
      for (const { value } of node.assignments) read(value);
      return readInside(
        node.assignments.flatMap(({ target }) => targetNames(target)),
        node.body,
      );
    case 'set': {
      const { target, value } = node;
      // A macro can call itself.
      if (value.type === 'macro') assigned.set(value.name, true);
      read(value);
      if (target.type === 'namespace') readName(target.name);
      for (const name of targetNames(target)) assigned.set(name, true);
      return;
    }
    default:
      for (const inner of Object.values(part)) read(inner);
  }
}

/** The names that a target assigns; an attribute of a namespace assigns none. */
const targetNames = (target: AssignmentTarget): readonly string[] =>
  target.type === 'name' ? [target.name] : target.type === 'tuple' ? target.items.flatMap(targetNames) : [];
