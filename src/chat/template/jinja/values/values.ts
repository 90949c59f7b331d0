import type { StepBudget } from '../stepBudget.ts';

/** A value with Python's types: an int is a number, a list an array; a string is indexed by code points. */
export type Value =
  | null
  | boolean
  | number
  | string
  | Float
  | Undefined
  | Value[]
  | Tuple
  | Dict
  | View
  | Generator
  | Namespace
  | Loop
  | Callable;

/** A Python float, which is printed with a fraction or an exponent. */
export class Float {
  readonly type = 'float';
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** What a name or an attribute that does not exist evaluates to; most operations on it fail. */
export class Undefined {
  readonly type = 'Undefined';
  /** Why it is undefined: the message of the error that an operation on it throws. */
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export class Tuple {
  readonly type = 'tuple';
  readonly items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.items = items;
  }
}

/** A Python dict: keys in the order of insertion; 1, 1.0 and true are the same key. A tuple cannot be a key. */
export class Dict {
  readonly type = 'dict';
  readonly #entries = new Map<unknown, [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(hashOf(key))?.[1];
  }

  set(key: Value, value: Value): void {
    const entry = this.#entries.get(hashOf(key));
    if (entry) entry[1] = value;
    else this.#entries.set(hashOf(key), [key, value]);
  }

  delete(key: Value): void {
    this.#entries.delete(hashOf(key));
  }

  keys(): Value[] {
    return [...this.#entries.values()].map(([key]) => key);
  }

  values(): Value[] {
    return [...this.#entries.values()].map(([, value]) => value);
  }

  entries(): readonly (readonly [Value, Value])[] {
    return [...this.#entries.values()];
  }

  items(): Tuple[] {
    return this.entries().map((entry) => new Tuple(entry));
  }
}

/** The items, keys or values of a dict, or a range: a sequence that is no list. */
export class View {
  readonly type: 'dict_items' | 'dict_keys' | 'dict_values' | 'range';
  readonly items: readonly Value[];
  /** What it is printed with, in place of the items. */
  readonly origin: string | undefined;

  constructor(type: View['type'], items: readonly Value[], origin?: string) {
    this.type = type;
    this.items = items;
    this.origin = origin;
  }
}

/** What filters such as `map` and `select` return: it has no length, is true, and can be iterated once. */
export class Generator {
  readonly type = 'generator';
  #items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.#items = items;
  }

  take(): readonly Value[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}

/** What `namespace()` returns: attributes that `set` can change from an inner scope. */
export class Namespace {
  readonly type = 'Namespace';
  readonly attributes: Map<string, Value>;

  constructor(attributes: Map<string, Value>) {
    this.attributes = attributes;
  }
}

/** The variable `loop` of a for loop. */
export class Loop {
  readonly type = 'LoopContext';
  readonly attribute: (name: string) => Value | undefined;
  /** Renders the loop for other items, where it is recursive. */
  readonly recurse: ((args: CallArguments) => Value) | undefined;

  constructor(attribute: (name: string) => Value | undefined, recurse: Loop['recurse']) {
    this.attribute = attribute;
    this.recurse = recurse;
  }
}

export interface CallArguments {
  readonly positional: readonly Value[];
  readonly keywords: ReadonlyMap<string, Value>;
}

/** A macro, a global function or a method. */
export class Callable {
  readonly type = 'function';
  readonly name: string;
  readonly call: (args: CallArguments, budget: StepBudget) => Value;

  constructor(name: string, call: Callable['call']) {
    this.name = name;
    this.call = call;
  }
}

// What is equal to Python as a key is the same value here.
function hashOf(key: Value): unknown {
  if (typeof key === 'boolean') return Number(key);
  if (key instanceof Float) return key.value;
  if (Array.isArray(key) || key instanceof Dict || key instanceof Tuple)
    throw new Error(`unhashable type: '${typeName(key)}'`);
  return typeof key === 'string' ? `str ${key}` : key;
}

export function typeName(value: Value): string {
  if (value === null) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return 'int';
  return typeof value === 'string' ? 'str' : value.type;
}

/** The values of parameters; those whose name ends with `?` need not be given. */
type Bound<Names extends readonly string[]> = {
  readonly [Index in keyof Names]: Names[Index] extends `${string}?` ? Value | undefined : Value;
};

/** What a filter, a test or a method does with its subject; `name` is its own, for errors. */
export type PythonFunction<Subject, Context, Result = Value> = (
  subject: Subject,
  args: CallArguments,
  context: Context,
  name: string,
) => Result;

/** What filters and tests need of the interpreter. */
export interface JinjaRuntime {
  readonly budget: StepBudget;
  /** @throws Error when there is no filter of this name. */
  applyFilter(name: string, value: Value, args: CallArguments): Value;
  /** @throws Error when there is no test of this name. */
  applyTest(name: string, value: Value, args: CallArguments): boolean;
}

/** A filter: `value | name(args)`. */
export type JinjaFilter = PythonFunction<Value, JinjaRuntime>;

/** A test: `value is name(args)`. */
export type JinjaTest = PythonFunction<Value, JinjaRuntime, boolean>;

/** Functions by name: a name that none of them has, such as `constructor`, is not found. */
export const byName = <T>(functions: Readonly<Record<string, T>>): ReadonlyMap<string, T> =>
  new Map(Object.entries(functions));

export const takes =
  <Subject, Context, Result, const Names extends readonly string[]>(
    parameters: Names,
    run: (subject: Subject, values: Bound<Names>, context: Context) => Result,
  ): PythonFunction<Subject, Context, Result> =>
  (subject, args, context, name) =>
    run(subject, bindArguments(name, args, parameters), context);

/** The arguments of a call in the order of its parameters. @throws Error for one too many, missing or unknown. */
export function bindArguments<const Names extends readonly string[]>(
  name: string,
  { positional, keywords }: CallArguments,
  parameters: Names,
): Bound<Names> {
  const names = parameters.map((parameter) => parameter.replace('?', ''));
  if (positional.length > names.length)
    throw new Error(`${name}() takes at most ${names.length} arguments, got ${positional.length}`);
  for (const keyword of keywords.keys())
    if (!names.includes(keyword)) throw new Error(`${name}() got an unexpected keyword argument '${keyword}'`);
  const values = names.map((parameter, index) => {
    const value = index < positional.length ? positional[index] : keywords.get(parameter);
    if (value === undefined && parameter === parameters[index]) throw new Error(`${name}() misses an argument`);
    return value;
  });
  // Safe: those that must be given are.
  return values as unknown as Bound<Names>;
}
