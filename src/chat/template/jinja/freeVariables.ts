import type { AssignmentTarget, Expression, MacroParameter, Statement } from './syntax/ast.ts';

/**
 * The variables that a template reads before it assigns them: those that its caller can set. In the order in which they
 * are first read; functions such as `range` are among them.
 */
export function freeVariables(statements: readonly Statement[]): readonly string[] {
  const free = new Set<string>();
  visitAll(statements, new AssignedNames([]), free);
  return [...free];
}

/** The names that a block assigns, and those that are assigned around it. */
class AssignedNames {
  readonly #own: Set<string>;
  readonly #outer: AssignedNames | undefined;

  constructor(names: readonly string[], outer?: AssignedNames) {
    this.#own = new Set(names);
    this.#outer = outer;
  }

  has(name: string): boolean {
    return this.#own.has(name) || (this.#outer?.has(name) ?? false);
  }

  add(name: string): void {
    this.#own.add(name);
  }
}

/** Visits statements in order; adds what they assign to `assigned`, and what they read before to `free`. */
function visitAll(statements: readonly Statement[], assigned: AssignedNames, free: Set<string>): void {
  for (const statement of statements) visit(statement, assigned, free);
}

function visit(statement: Statement, assigned: AssignedNames, free: Set<string>): void {
  const read = (part: unknown): void => readAll(part, assigned, free);
  const visitBlock = (body: readonly Statement[], ...names: readonly string[]): void =>
    visitAll(body, new AssignedNames(names, assigned), free);
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
      readAll(statement.test, new AssignedNames(names, assigned), free);
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
      assigned.add(statement.name);
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
  assigned: AssignedNames,
  free: Set<string>,
): void {
  const names = ['caller', 'varargs', 'kwargs', ...parameters.map(({ name }) => name)];
  const inner = new AssignedNames(names, assigned);
  for (const { fallback } of parameters) readAll(fallback, inner, free);
  visitAll(body, inner, free);
}

/** The names that a target assigns; an attribute of a namespace assigns none. */
const targetNames = (target: AssignmentTarget): readonly string[] =>
  target.type === 'name' ? [target.name] : target.type === 'tuple' ? target.items.flatMap(targetNames) : [];

function assign(target: AssignmentTarget, assigned: AssignedNames, free: Set<string>): void {
  if (target.type === 'namespace' && !assigned.has(target.name)) free.add(target.name);
  for (const name of targetNames(target)) assigned.add(name);
}

/** Adds the names that are read anywhere in a part of an expression: an expression, its arguments, or a list of parts. */
function readAll(part: unknown, assigned: AssignedNames, free: Set<string>): void {
  if (typeof part !== 'object' || part === null) return;
  const { type, name } = part as Partial<Expression & { readonly type: 'name' }>;
  if (type === 'name' && name !== undefined && !assigned.has(name)) free.add(name);
  // The members of an expression are in the order in which it reads them.
  for (const inner of Object.values(part)) readAll(inner, assigned, free);
}
