import { StepBudget, TemplateLimitError, type TotalStepBudget } from './stepBudget.ts';
import type { Statement, AssignmentTarget, ForStatement } from './syntax/ast.ts';
import { fromData, isTrue, iterate, orUndefined, integerOf, stringOf } from './values/coercion.ts';
import { lineOf } from './syntax/lexer.ts';
import { parseTemplate } from './syntax/parse.ts';
import { Scope, Evaluator } from './evaluate.ts';
import { areEqual } from './operations/operators.ts';
import type { CallArguments, Value } from './values/values.ts';
import { byName, Callable, Dict, Loop, Namespace, Tuple, bindArguments, View } from './values/values.ts';
import { toText } from './values/text.ts';

const maxRangeLength = 100_000;

const range = new Callable('range', (args, budget) => {
  const [first, second, step = 1] = bindArguments('range', args, ['start', 'stop?', 'step?']);
  const start = integerOf(first);
  const [from, to] = second === undefined ? [0, start] : [start, integerOf(second)];
  const by = integerOf(step);
  if (by === 0) throw new Error('range() arg 3 must not be zero');
  const length = Math.max(0, Math.ceil((to - from) / by));
  if (length > maxRangeLength) throw new Error(`range() makes at most ${maxRangeLength} items`);
  budget.spendList(length);
  const items = Array.from({ length }, (_, index) => from + index * by);
  return new View('range', items, [from, to, ...(by === 1 ? [] : [by])].join(', '));
});

function dictEntries(source: Value | undefined): readonly (readonly [Value, Value])[] {
  if (source === undefined) return [];
  if (source instanceof Dict) return source.entries();
  return iterate(source).map((pair) => {
    const [key, value] = iterate(pair);
    if (key === undefined || value === undefined) throw new Error('a pair of a dict has a key and a value');
    return [key, value];
  });
}

const dict = new Callable(
  'dict',
  ({ positional: [source], keywords }) => new Dict([...dictEntries(source), ...keywords]),
);

const namespace = new Callable('namespace', ({ positional: [source], keywords }) => {
  const entries = dictEntries(source).map(([key, value]) => [stringOf(key), value] as const);
  return new Namespace(new Map([...entries, ...keywords]));
});

const raiseException = new Callable('raise_exception', (args, budget) => {
  const [message = ''] = bindArguments('raise_exception', args, ['message?']);
  throw new Error(toText(message, budget));
});

/** The functions that every chat template has. */
export const jinjaGlobals: ReadonlyMap<string, Callable> = new Map(
  [range, dict, namespace, raiseException].map((each) => [each.name, each]),
);

const parsedCharactersPerStep = 4;
const stepsPerRendering = 1000;

/** A Jinja template, with the settings and filters that Hugging Face's transformers gives it. */
export class JinjaTemplate {
  readonly statements: readonly Statement[];
  readonly #source: string;

  /** @throws Error when the source is not valid, with its line. */
  constructor(source: string) {
    this.#source = source;
    this.statements = explainOverflow(() => parseTemplate(source));
  }

  /**
   * Renders the template.
   * @param variables plain data and functions of texts.
   * @param total what this rendering and others may take together.
   * @throws TemplateLimitError with the line, when it takes too much work.
   * @throws Error with the template's own message when it raises one, or when it fails.
   */
  render(variables: Readonly<Record<string, unknown>>, total?: TotalStepBudget): string {
    const budget = new StepBudget(total);
    const executor = new Executor(budget);
    const run = (): string => {
      total?.spend(stepsPerRendering);
      const scope = new Scope();
      for (const [name, value] of jinjaGlobals) scope.set(name, value);
      const onSize = (size: number): void => budget.addInput(size);
      for (const [name, data] of Object.entries(variables)) scope.set(name, fromData(data, onSize));
      const text = executor.render(this.statements, scope);
      // It is parsed then.
      total?.spend(text.length / parsedCharactersPerStep);
      return text;
    };
    try {
      return explainOverflow(run);
    } catch (error) {
      if (error instanceof TemplateLimitError) error.addLine(lineOf(this.#source, executor.offset));
      throw error;
    }
  }
}

// A program can nest deeper than the stack of JavaScript.
function explainOverflow<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new TemplateLimitError('the template nests too deeply', { cause: error });
  }
}

type LoopControl = 'break' | 'continue';

/** The text that statements write; a part of a template has its own, for example a macro. */
interface Output {
  text: string;
}

class Executor extends Evaluator {
  /** Where the statement that runs, or ran last, is in the source. */
  offset = 0;

  override render(statements: readonly Statement[], scope: Scope): string {
    const output = { text: '' };
    this.#runAll(statements, scope, output);
    return output.text;
  }

  /** Runs statements; returns whether they ended by `break` or `continue`. */
  #runAll(statements: readonly Statement[], scope: Scope, output: Output): LoopControl | undefined {
    for (const statement of statements) {
      const control = this.#run(statement, scope, output);
      if (control) return control;
    }
    return undefined;
  }

  /** Runs a statement; only a block, `break` and `continue` end a loop or its turn. */
  #run(statement: Statement, scope: Scope, output: Output): LoopControl | undefined {
    const { budget } = this;
    this.offset = statement.offset;
    budget.spend(1);
    switch (statement.type) {
      case 'text':
        return this.#write(statement.text, output);
      case 'output':
        return this.#write(toText(this.evaluate(statement.value, scope), budget), output);
      case 'if': {
        const branch = statement.branches.find(({ test }) => isTrue(this.evaluate(test, scope)));
        return this.#runAll(branch?.body ?? statement.otherwise, scope, output);
      }
      case 'for':
        return this.#runFor(statement, this.evaluate(statement.iterable, scope), scope, output, 0);
      case 'set':
        return this.#assign(statement.target, this.evaluate(statement.value, scope), scope);
      case 'with': {
        const inner = new Scope(scope);
        for (const { target, value } of statement.assignments) this.#assign(target, this.evaluate(value, scope), inner);
        return this.#runAll(statement.body, inner, output);
      }
      case 'break':
      case 'continue':
        return statement.type;
      default:
        return statement satisfies never;
    }
  }

  #write(text: string, output: Output): undefined {
    this.budget.spendText(text.length);
    this.budget.checkText(output.text.length + text.length);
    output.text += text;
  }

  #assign(target: AssignmentTarget, value: Value, scope: Scope): undefined {
    if (target.type === 'name') return void scope.set(target.name, value);
    if (target.type === 'namespace') {
      const namespace = scope.get(target.name);
      if (!(namespace instanceof Namespace)) throw new Error('cannot assign attribute on non-namespace object');
      return void namespace.attributes.set(target.attribute, value);
    }
    const items = iterate(value);
    if (items.length !== target.items.length)
      throw new Error(`expected ${target.items.length} values to unpack, got ${items.length}`);
    for (const [index, item] of target.items.entries()) this.#assign(item, items[index] ?? null, scope);
  }

  #runFor(statement: ForStatement, iterable: Value, scope: Scope, output: Output, depth: number): undefined {
    const items = this.#selectItems(statement, iterable, scope);
    const recurse = ({ positional: [children] }: CallArguments): Value => {
      const inner = { text: '' };
      this.budget.nested(() =>
        this.#runFor(statement, orUndefined(children, 'the loop got no items'), scope, inner, depth + 1),
      );
      return inner.text;
    };
    let last: Tuple | undefined;
    const isChanged = (values: Tuple): boolean => {
      const previous = last;
      last = values;
      return !previous || !areEqual(previous, values, this.budget);
    };
    for (const [index, item] of items.entries()) {
      const iteration = { items, index, depth, isChanged };
      const attribute = (name: string): Value | undefined => loopAttributes.get(name)?.(iteration);
      const inner = new Scope(scope);
      inner.set('loop', new Loop(attribute, statement.recursive ? recurse : undefined));
      this.#assign(statement.target, item, inner);
      if (this.#runAll(statement.body, inner, output) === 'break') break;
    }
    if (items.length === 0) this.#runAll(statement.otherwise, new Scope(scope), output);
  }

  #selectItems({ target, test }: ForStatement, iterable: Value, scope: Scope): readonly Value[] {
    const items = [...iterate(iterable)];
    this.budget.spendList(items.length);
    if (!test) return items;
    return items.filter((item) => {
      const inner = new Scope(scope);
      this.#assign(target, item, inner);
      return isTrue(this.evaluate(test, inner));
    });
  }
}

interface Iteration {
  readonly items: readonly Value[];
  readonly index: number;
  readonly depth: number;
  /** Whether values are others than those that it was asked for before in this loop. */
  readonly isChanged: (values: Tuple) => boolean;
}

const loopAttributes = byName<(iteration: Iteration) => Value>({
  index: ({ index }) => index + 1,
  index0: ({ index }) => index,
  revindex: ({ items, index }) => items.length - index,
  revindex0: ({ items, index }) => items.length - index - 1,
  first: ({ index }) => index === 0,
  last: ({ items, index }) => index === items.length - 1,
  length: ({ items }) => items.length,
  depth: ({ depth }) => depth + 1,
  depth0: ({ depth }) => depth,
  previtem: ({ items, index }) => orUndefined(items[index - 1], 'there is no previous item'),
  nextitem: ({ items, index }) => orUndefined(items[index + 1], 'there is no next item'),
  cycle: ({ index }) =>
    new Callable('cycle', ({ positional }) => {
      const item = positional[index % positional.length];
      if (item === undefined) throw new Error('no items for cycling given');
      return item;
    }),
  changed: ({ isChanged }) => new Callable('changed', ({ positional }) => isChanged(new Tuple(positional))),
});
