import { didYouMean } from '../../../base/didYouMean.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult } from '../../../protocol/schema.ts';
import { fieldTypes, type KnowledgeField, type ScalarType } from '../../storage/knowledge/knowledge.ts';
import type { EntryFilter, Held, Open, OpenCondition, Outcome, Scalar } from './filter.ts';
import { allOf, anyOf, not } from './filter.ts';
import type { Operand, OperandList, SingleOperator } from './operators.ts';
import { equals, listOperators, scalars, singleOperators, variableOperand } from './operators.ts';

const maxDepth = 16;
const maxConditions = 256;
const maxValues = 1000;
const combinations = ['$and', '$or', '$not'] as const;
const operators = [...singleOperators.keys(), ...listOperators.keys(), '$exists', '$not'];

/**
 * Reads a filter: conditions on metadata as Chroma and Pinecone have them. An entry without a field never matches a
 * condition on it, nor the negation of one (`$ne`, `$nin`, `$not`); a field with a `default` is one that every entry has.
 * @param value plain data of JSON.
 * @param fields those that the storage declares; undefined: any field, of any type.
 * @returns the filter, or its first error with a pointer such as `/$or/1/min_level/$lte`.
 */
export function readFilter(value: unknown, fields: readonly KnowledgeField[] | undefined): ReadResult<EntryFilter> {
  try {
    const reader = new FilterReader(fields);
    const condition = reader.read(value, '', 1);
    const bind: EntryFilter['bind'] = (variables) => {
      const bound = condition(variables);
      return (valueOf) => bound(valueOf) === true;
    };
    return { ok: true, value: { fields: reader.names, variables: reader.variables, bind } };
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    return { ok: false, errors: [{ pointer: error.pointer, message: error.message }] };
  }
}

/** The first error of a filter. */
class FilterError extends Error {
  readonly pointer: string;

  constructor(pointer: string, message: string) {
    super(message);
    this.pointer = pointer;
  }
}

function fail(pointer: string, message: string): never {
  throw new FilterError(pointer, message);
}

/** What conditions compare: a field by its name, and its declaration, if there is one. */
interface Target {
  readonly name: string;
  readonly field: KnowledgeField | undefined;
}

/** Reads one filter; all its methods throw a FilterError. */
class FilterReader {
  readonly variables = new Set<string>();
  readonly names = new Set<string>();
  readonly #fields: ReadonlyMap<string, KnowledgeField> | undefined;
  #conditions = 0;

  constructor(fields: readonly KnowledgeField[] | undefined) {
    this.#fields = fields && new Map(fields.map((field) => [field.name, field]));
  }

  read(value: unknown, pointer: string, depth: number): OpenCondition {
    assertDepth(depth, pointer);
    if (!isObject(value)) fail(pointer, 'must be an object of conditions, as {"min_level": {"$lte": 12}}');
    return allOf(
      Object.entries(value).map(([name, member]) => {
        const at = pointer + escapePointerToken(name);
        if (name === '$not') return not(this.read(member, at, depth + 1));
        if (name === '$and' || name === '$or') return this.#readList(name, member, at, depth);
        if (name.startsWith('$')) fail(at, `is no operator here${didYouMean(name, combinations)}`);
        return this.#readConditions(this.#target(name, at), member, at, depth);
      }),
    );
  }

  #readList(name: '$and' | '$or', value: unknown, pointer: string, depth: number): OpenCondition {
    if (!Array.isArray(value) || value.length === 0) fail(pointer, 'must be a list of filters, not empty');
    this.#count(value.length, pointer);
    const filters = value.map((item, index) => this.read(item, `${pointer}/${index}`, depth + 1));
    return name === '$and' ? allOf(filters) : anyOf(filters);
  }

  #target(name: string, pointer: string): Target {
    const field = this.#fields?.get(name);
    if (name === '__proto__') fail(pointer, 'is the name of no field');
    if (this.#fields && !field)
      fail(pointer, `is not among the fields of the storage${didYouMean(name, this.#fields.keys())}`);
    this.names.add(name);
    return { name, field };
  }

  #readConditions(target: Target, value: unknown, pointer: string, depth: number): OpenCondition {
    if (!isObject(value) || Object.hasOwn(value, '$variable'))
      return this.#readSingle(target, '$eq', equals, value, pointer);
    const conditions = Object.entries(value);
    if (conditions.length === 0) fail(pointer, `must have an operator: ${operators.join(', ')}`);
    return allOf(
      conditions.map(([operator, operand]) => {
        const at = pointer + escapePointerToken(operator);
        if (operator === '$not') {
          assertDepth(depth + 1, at);
          if (!isObject(operand)) fail(at, 'must be an object of operators, as {"$gt": 12}');
          return not(this.#readConditions(target, operand, at, depth + 1));
        }
        if (operator === '$exists') return this.#readExists(target, operand, at);
        const single = singleOperators.get(operator);
        if (single) return this.#readSingle(target, operator, single, operand, at);
        const compare = listOperators.get(operator);
        if (!compare) fail(at, `is no operator (there are ${operators.join(', ')})${didYouMean(operator, operators)}`);
        this.#count(1, at);
        const values = this.#readOperands(operand, allowedTypes(target, scalars), at);
        return openCondition(target, literalTypes(operand), values, compare);
      }),
    );
  }

  #readExists({ name }: Target, value: unknown, pointer: string): OpenCondition {
    this.#count(1, pointer);
    if (typeof value !== 'boolean') fail(pointer, 'must be true or false');
    return () => (valueOf) => (valueOf(name, noTypes) !== undefined) === value;
  }

  #readSingle(
    target: Target,
    name: string,
    { fieldTypes: comparable, valueTypes, compare }: SingleOperator,
    value: unknown,
    pointer: string,
  ): OpenCondition {
    this.#count(1, pointer);
    const { name: field, field: { type } = {} } = target;
    if (type && !comparable.includes(type)) {
      const fix = type === 'set<string>' ? '; use $contains, $in or $nin' : '';
      fail(pointer, `cannot compare "${field}", which is of the type ${type}, by ${name}${fix}`);
    }
    const operand = this.#readOperand(value, allowedTypes(target, valueTypes), pointer);
    const types = valueTypes.length === 1 ? new Set(valueTypes) : literalTypes(value);
    return openCondition(target, types, operand, compare);
  }

  /** Reads a value, or `{"$variable": name}`. */
  #readOperand(value: unknown, allowed: readonly ScalarType[], pointer: string): Open<Operand> {
    if (isObject(value)) return this.#readVariable(value, pointer);
    if (!isScalar(value) || !allowed.some((type) => type === typeof value)) {
      const hint = Array.isArray(value) ? '; a list goes with $in or $nin' : '';
      fail(pointer, `must be ${allowed.map((type) => described[type]).join(', ')} or {"$variable": name}${hint}`);
    }
    return () => () => value;
  }

  #readOperands(value: unknown, allowed: readonly ScalarType[], pointer: string): Open<OperandList> {
    if (!Array.isArray(value)) fail(pointer, 'must be a list of values');
    if (value.length > maxValues) fail(pointer, `has ${value.length} values, and ${maxValues} are allowed`);
    const literals = new Set<Scalar>();
    const open: Open<Operand>[] = [];
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      const operand = this.#readOperand(item, allowed, `${pointer}/${index}`);
      if (isScalar(item)) literals.add(item);
      else open.push(operand);
    }
    return (variables) => ({ literals, variables: open.map((operand) => operand(variables)) });
  }

  #readVariable({ $variable: name, ...others }: Readonly<Record<string, unknown>>, pointer: string): Open<Operand> {
    if (typeof name !== 'string' || name === '' || Object.keys(others).length > 0)
      fail(pointer, 'must be a value or {"$variable": name}, the name of a variable');
    this.variables.add(name);
    return (variables) => variableOperand(Object.hasOwn(variables, name) ? variables[name] : undefined);
  }

  #count(conditions: number, pointer: string): void {
    this.#conditions += conditions;
    if (this.#conditions > maxConditions)
      fail(pointer, `is beyond the ${maxConditions} conditions that a filter may have`);
  }
}

function assertDepth(depth: number, pointer: string): void {
  if (depth > maxDepth) fail(pointer, `is nested deeper than ${maxDepth}, and no filter may be`);
}

/** A declared field allows only values of its own type. */
const allowedTypes = ({ field }: Target, types: readonly ScalarType[]): readonly ScalarType[] =>
  field ? [fieldTypes[field.type].scalar] : types;

/** The condition that an entry has the field, and that it compares so with a value. */
const openCondition =
  <Value>(
    { name }: Target,
    types: ReadonlySet<ScalarType>,
    value: Open<Value>,
    compare: (held: Held, value: Value) => Outcome,
  ): OpenCondition =>
  (variables) => {
    const bound = value(variables);
    return (valueOf) => {
      const held = valueOf(name, types);
      return held === undefined ? undefined : compare(held, bound);
    };
  };

const noTypes: ReadonlySet<ScalarType> = new Set();

/** Of a value, or of a list of them, without variables. */
const literalTypes = (value: unknown): ReadonlySet<ScalarType> =>
  new Set(
    [value]
      .flat()
      .filter(isScalar)
      .map((literal) => typeof literal as ScalarType),
  );

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

const described = { string: 'a string', number: 'a number', boolean: 'true or false' } as const;
