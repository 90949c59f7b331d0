import type { CallArguments, JinjaFilter, JinjaRuntime, Value, JinjaTest } from './values/values.ts';
import {
  Callable,
  Dict,
  Float,
  Loop,
  Tuple,
  typeName,
  Undefined,
  byName,
  takes,
  Generator,
  View,
} from './values/values.ts';
import { listFilters } from './filters/lists.ts';
import { scalarFilters } from './filters/scalars.ts';
import type { ArgumentList, ComparisonOperator, Expression, MacroParameter, Statement } from './syntax/ast.ts';
import type { StepBudget } from './stepBudget.ts';
import { calculate, comparisons, areEqual, moduloOf } from './operations/operators.ts';
import { attributeOf, itemOf, sliceOf } from './operations/attributes.ts';
import { toText } from './values/text.ts';
import {
  isTrue,
  iterate,
  numberOf,
  orUndefined,
  requireDefined,
  requireNumber,
  sizeOf,
  stringOf,
} from './values/coercion.ts';

const jinjaFilters: ReadonlyMap<string, JinjaFilter> = new Map([...scalarFilters, ...listFilters]);

type Operation = Extract<
  Expression,
  { readonly type: 'not' | 'sign' | 'arithmetic' | 'concatenation' | 'and' | 'or' | 'comparison' | 'condition' }
>;

/** Evaluates the expressions of a template, as Python's Jinja does. */
export abstract class Evaluator implements JinjaRuntime {
  readonly budget: StepBudget;

  constructor(budget: StepBudget) {
    this.budget = budget;
  }

  /** The text that statements write. @throws Error when an operation fails, or the template takes too much work. */
  abstract render(statements: readonly Statement[], scope: Scope): string;

  /** @throws Error when an operation fails, or the budget is used up. */
  evaluate(expression: Expression, scope: Scope): Value {
    this.budget.spend(1);
    switch (expression.type) {
      case 'literal':
        return expression.value;
      case 'name':
        return scope.get(expression.name);
      case 'list':
        return this.#evaluateAll(expression.items, scope);
      case 'tuple':
        return new Tuple(this.#evaluateAll(expression.items, scope));
      case 'dict':
        return new Dict(
          expression.entries.map(([key, value]) => [this.#evaluateKey(key, scope), this.evaluate(value, scope)]),
        );
      case 'attribute':
        return attributeOf(this.evaluate(expression.object, scope), expression.name);
      case 'item':
        return itemOf(this.evaluate(expression.object, scope), this.evaluate(expression.key, scope), this.budget);
      case 'slice': {
        const bounds = expression.bounds.map((bound) => bound && this.evaluate(bound, scope));
        return sliceOf(this.evaluate(expression.object, scope), bounds, this.budget);
      }
      case 'call':
        return this.call(this.evaluate(expression.callee, scope), this.evaluateArguments(expression.args, scope));
      case 'filter': {
        const { operand, name, args } = expression;
        return this.applyFilter(name, this.evaluate(operand, scope), this.evaluateArguments(args, scope));
      }
      case 'test': {
        const { operand, name, args } = expression;
        return this.applyTest(name, this.evaluate(operand, scope), this.evaluateArguments(args, scope));
      }
      case 'block':
        return this.render(expression.body, new Scope(scope));
      case 'macro':
        return this.#createMacro(expression, scope);
      default:
        return this.#operate(expression, scope);
    }
  }

  #operate(operation: Operation, scope: Scope): Value {
    switch (operation.type) {
      case 'not':
        return !isTrue(this.evaluate(operation.operand, scope));
      case 'sign':
        return signed(operation.operator, this.evaluate(operation.operand, scope));
      case 'arithmetic': {
        const left = this.evaluate(operation.left, scope);
        return calculate(operation.operator, left, this.evaluate(operation.right, scope), this.budget);
      }
      case 'concatenation': {
        let text = '';
        for (const part of operation.parts) {
          text += toText(this.evaluate(part, scope), this.budget);
          this.budget.spendText(text.length);
        }
        return text;
      }
      case 'and':
      case 'or': {
        const left = this.evaluate(operation.left, scope);
        return isTrue(left) === (operation.type === 'or') ? left : this.evaluate(operation.right, scope);
      }
      case 'comparison':
        return this.#compare(operation, scope);
      case 'condition':
        if (isTrue(this.evaluate(operation.test, scope))) return this.evaluate(operation.whenTrue, scope);
        if (operation.whenFalse) return this.evaluate(operation.whenFalse, scope);
        return new Undefined('the condition is false, and there is no else');
    }
  }

  #evaluateKey(key: Expression, scope: Scope): Value {
    const value = this.evaluate(key, scope);
    this.budget.spend(sizeOf(value));
    return value;
  }

  #evaluateAll(items: readonly Expression[], scope: Scope): Value[] {
    return items.map((item) => this.evaluate(item, scope));
  }

  #compare({ first, rest }: Expression & { readonly type: 'comparison' }, scope: Scope): boolean {
    let left = this.evaluate(first, scope);
    for (const { operator, operand } of rest) {
      const right = this.evaluate(operand, scope);
      if (!comparisons[operator](left, right, this.budget)) return false;
      left = right;
    }
    return true;
  }

  #createMacro({ name, parameters, body }: Expression & { readonly type: 'macro' }, scope: Scope): Callable {
    return new Callable(name, ({ positional, keywords }) => {
      const inner = new Scope(scope);
      const others = new Map(keywords);
      for (const [index, parameter] of parameters.entries()) {
        const given = index < positional.length ? positional[index] : keywords.get(parameter.name);
        others.delete(parameter.name);
        inner.set(parameter.name, given === undefined ? this.#parameterDefault(parameter, inner) : given);
      }
      inner.set('caller', orUndefined(others.get('caller'), 'No caller defined'));
      others.delete('caller');
      inner.set('varargs', new Tuple(positional.slice(parameters.length)));
      inner.set('kwargs', new Dict(others));
      return this.render(body, inner);
    });
  }

  #parameterDefault({ name, fallback }: MacroParameter, scope: Scope): Value {
    return fallback ? this.evaluate(fallback, scope) : new Undefined(`parameter '${name}' was not provided`);
  }

  /** @throws Error when what is spread is no list or dict. */
  evaluateArguments({ positional, keywords, spread, keywordSpread }: ArgumentList, scope: Scope): CallArguments {
    const values = this.#evaluateAll(positional, scope);
    const named = new Map(keywords.map(([name, value]) => [name, this.evaluate(value, scope)]));
    if (keywordSpread) {
      const dict = requireDefined(this.evaluate(keywordSpread, scope));
      if (!(dict instanceof Dict)) throw new Error(`'${typeName(dict)}' object is not a mapping`);
      for (const [key, value] of dict.entries()) named.set(stringOf(key), value);
    }
    if (!spread) return { positional: values, keywords: named };
    return { positional: [...values, ...iterate(this.evaluate(spread, scope))], keywords: named };
  }

  /** @throws Error when the value is no function, or the call fails. */
  call(callee: Value, args: CallArguments): Value {
    const defined = requireDefined(callee);
    this.#spendArguments(args);
    if (defined instanceof Callable) return this.budget.nested(() => defined.call(args, this.budget));
    if (defined instanceof Loop && defined.recurse) return defined.recurse(args);
    throw new Error(`'${typeName(defined)}' object is not callable`);
  }

  applyFilter(name: string, value: Value, args: CallArguments): Value {
    const filter = jinjaFilters.get(name);
    if (!filter) throw new Error(`No filter named '${name}'.`);
    this.#spendArguments(args, value);
    return filter(value, args, this, name);
  }

  #spendArguments({ positional, keywords }: CallArguments, operand: Value = null): void {
    const sizes = [operand, ...positional, ...keywords.values()].map(sizeOf);
    this.budget.spend(sizes.reduce((sum, size) => sum + size, sizes.length));
  }

  applyTest(name: string, value: Value, args: CallArguments): boolean {
    const test = jinjaTests.get(name);
    if (!test) throw new Error(`No test named '${name}'.`);
    this.#spendArguments(args, value);
    return test(value, args, this, name);
  }
}

function signed(operator: '+' | '-', value: Value): Value {
  const number = numberOf(requireDefined(value));
  if (number === undefined) throw new Error(`bad operand type for unary ${operator}: '${typeName(value)}'`);
  const result = operator === '-' ? -number : number;
  // There is no negative zero among integers.
  return value instanceof Float ? new Float(result) : result + 0;
}

/** The variables of a template, a loop, a macro or a block. Assignments stay in it; outer variables can be read. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #parent: Scope | undefined;

  constructor(parent?: Scope) {
    this.#parent = parent;
  }

  get(name: string): Value {
    return orUndefined(this.find(name), `'${name}' is undefined`);
  }

  find(name: string): Value | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.#parent) {
      const value = scope.#variables.get(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}

const comparison = (operator: ComparisonOperator): JinjaTest =>
  takes(['other'], (value, [other], { budget }) => comparisons[operator](value, other, budget));

// As in Jinja, undefined can be called: it then says what is undefined.
const isCallable = (value: Value): boolean =>
  value instanceof Callable || value instanceof Undefined || (value instanceof Loop && value.recurse !== undefined);

const isSequence = (value: Value): boolean =>
  typeof value === 'string' ||
  Array.isArray(value) ||
  value instanceof Tuple ||
  value instanceof Dict ||
  value instanceof Undefined ||
  (value instanceof View && value.type === 'range');

const inCase =
  (change: 'toLowerCase' | 'toUpperCase'): JinjaTest =>
  (value, _, { budget }) => {
    const text = toText(value, budget);
    return text === text[change]() && text.toLowerCase() !== text.toUpperCase();
  };

const jinjaTests = byName<JinjaTest>({
  boolean: (value) => typeof value === 'boolean',
  callable: isCallable,
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  none: (value) => value === null,
  true: (value) => value === true,
  false: (value) => value === false,
  string: (value) => typeof value === 'string',
  integer: (value) => typeof value === 'number',
  float: (value) => value instanceof Float,
  number: (value) => numberOf(value) !== undefined,
  mapping: (value) => value instanceof Dict,
  sequence: isSequence,
  iterable: (value) =>
    isSequence(value) || value instanceof View || value instanceof Generator || value instanceof Loop,
  odd: (value) => moduloOf(requireNumber(value), 2) === 1,
  even: (value) => moduloOf(requireNumber(value), 2) === 0,
  divisibleby: takes(['num'], (value, [divisor]) => moduloOf(requireNumber(value), requireNumber(divisor)) === 0),
  lower: inCase('toLowerCase'),
  upper: inCase('toUpperCase'),
  in: comparison('in'),
  eq: comparison('=='),
  equalto: comparison('=='),
  ne: comparison('!='),
  lt: comparison('<'),
  lessthan: comparison('<'),
  le: comparison('<='),
  gt: comparison('>'),
  greaterthan: comparison('>'),
  ge: comparison('>='),
  sameas: takes(
    ['other'],
    (value, [other], { budget }) =>
      value === other || (typeof value === typeof other && !isSequence(value) && areEqual(value, other, budget)),
  ),
  escaped: () => false,
});
