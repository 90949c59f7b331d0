import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';
import type { KnowledgeField } from '../../storage/knowledge/knowledge.ts';
import {
  isIn,
  isNotIn,
  literalOperand,
  type Operand,
  type OperandList,
  type Scalar,
  scalarTypeOf,
  type SingleOperator,
  singleOperators,
  variableOperand,
} from './operators.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { allOf, anyOf, type EntryFilter, not, type OpenCondition } from './filter.ts';

const maxDepth = 16;
const maxConditions = 256;
const combinations = ['$and', '$or', '$not'] as const;
const operators: readonly string[] = [...Object.keys(singleOperators), '$in', '$nin', '$not'];

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
    return {
      ok: true,
      value: {
        variables: reader.variables,
        bind: (variables) => {
          const bound = condition(variables);
          return (metadata) => bound(metadata) === true;
        },
      },
    };
  } catch (error) {
    if (error instanceof FilterError) return { ok: false, errors: [error.schemaError] };
    throw error;
  }
}

class FilterReader {
  readonly #fields: ReadonlyMap<string, KnowledgeField> | undefined;
  readonly #operands = new OperandReader();
  #conditions = 0;

  constructor(fields: readonly KnowledgeField[] | undefined) {
    this.#fields = fields && new Map(fields.map((field) => [field.name, field]));
  }

  get variables(): ReadonlySet<string> {
    return this.#operands.variables;
  }

  read(value: unknown, pointer: string, depth: number): OpenCondition {
    if (depth > maxDepth) fail(pointer, `is nested deeper than ${maxDepth}, and no filter may be`);
    if (!isObject(value)) fail(pointer, 'must be an object of conditions, as {"min_level": {"$lte": 12}}');
    return allOf(
      Object.entries(value).map(([name, member]) => {
        const at = pointer + escapePointerToken(name);
        if (name === '$not') return not(this.read(member, at, depth + 1));
        if (name === '$and' || name === '$or') return this.#readList(name, member, at, depth);
        if (name.startsWith('$')) fail(at, `is no operator here${didYouMean(name, combinations)}`);
        return this.#readField(name, member, at, depth);
      }),
    );
  }

  #readList(name: '$and' | '$or', value: unknown, pointer: string, depth: number): OpenCondition {
    if (!Array.isArray(value) || value.length === 0) fail(pointer, 'must be a list of filters, not empty');
    this.#count(value.length, pointer);
    const filters = value.map((item, index) => this.read(item, `${pointer}/${index}`, depth + 1));
    return name === '$and' ? allOf(filters) : anyOf(filters);
  }

  #readField(name: string, value: unknown, pointer: string, depth: number): OpenCondition {
    const field = this.#fields?.get(name);
    if (name === '__proto__') fail(pointer, 'is the name of no field');
    if (this.#fields && !field)
      fail(pointer, `is not among the fields of the storage${didYouMean(name, this.#fields.keys())}`);
    return this.#readConditions(name, field, value, pointer, depth);
  }

  #readConditions(
    name: string,
    field: KnowledgeField | undefined,
    value: unknown,
    pointer: string,
    depth: number,
  ): OpenCondition {
    if (!isObject(value) || Object.hasOwn(value, '$variable'))
      return this.#readSingle(name, field, '$eq', value, pointer);
    const conditions = Object.entries(value);
    if (conditions.length === 0) fail(pointer, `must have an operator: ${operators.join(', ')}`);
    return allOf(
      conditions.map(([operator, operand]) => {
        const at = pointer + escapePointerToken(operator);
        if (operator === '$not') {
          if (depth >= maxDepth) fail(at, `is nested deeper than ${maxDepth}, and no filter may be`);
          if (!isObject(operand)) fail(at, 'must be an object of operators, as {"$gt": 12}');
          return not(this.#readConditions(name, field, operand, at, depth + 1));
        }
        if (operator === '$in' || operator === '$nin') return this.#readIn(name, field, operator, operand, at);
        if (!isSingle(operator))
          fail(at, `is no operator (there are ${operators.join(', ')})${didYouMean(operator, operators)}`);
        return this.#readSingle(name, field, operator, operand, at);
      }),
    );
  }

  #readSingle(
    name: string,
    field: KnowledgeField | undefined,
    operator: keyof typeof singleOperators,
    value: unknown,
    pointer: string,
  ): OpenCondition {
    this.#count(1, pointer);
    const { fieldTypes, valueTypes, compare }: SingleOperator = singleOperators[operator];
    if (field && !fieldTypes.includes(field.type)) {
      const fix = field.type === 'set<string>' ? '; use $contains, $in or $nin' : '';
      fail(pointer, `cannot compare "${name}", which is of the type ${field.type}, by ${operator}${fix}`);
    }
    const operand = this.#operands.readOperand(value, field, valueTypes, pointer);
    return (variables) => {
      const bound = operand(variables);
      return (metadata) => {
        const held = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
        return held === undefined ? undefined : compare(held, bound);
      };
    };
  }

  #readIn(
    name: string,
    field: KnowledgeField | undefined,
    operator: '$in' | '$nin',
    value: unknown,
    pointer: string,
  ): OpenCondition {
    this.#count(1, pointer);
    const list = this.#operands.readList(value, field, pointer);
    const compare = operator === '$in' ? isIn : isNotIn;
    return (variables) => {
      const bound = list(variables);
      return (metadata) => {
        const held = Object.hasOwn(metadata, name) ? metadata[name] : undefined;
        return held === undefined ? undefined : compare(held, bound);
      };
    };
  }

  #count(conditions: number, pointer: string): void {
    this.#conditions += conditions;
    if (this.#conditions > maxConditions)
      fail(pointer, `is beyond the ${maxConditions} conditions that a filter may have`);
  }
}

const isSingle = (name: string): name is keyof typeof singleOperators => Object.hasOwn(singleOperators, name);

function fail(pointer: string, message: string): never {
  throw new FilterError({ pointer, message } satisfies SchemaError);
}

const maxValues = 1000;

/** The first error of a filter. */
class FilterError extends Error {
  readonly schemaError: SchemaError;

  constructor(error: SchemaError) {
    super(`${error.pointer} ${error.message}`);
    this.schemaError = error;
  }
}

type Variables = Readonly<Record<string, string>>;

/** Reads the values that the conditions of one filter compare with, and collects the variables among them. */
class OperandReader {
  readonly variables = new Set<string>();

  /**
   * Reads a value, or `{"$variable": name}`.
   * @param types those that the operator takes; a declared field allows only its own.
   * @throws FilterError
   */
  readOperand(
    value: unknown,
    field: KnowledgeField | undefined,
    types: readonly ('string' | 'number' | 'boolean')[],
    pointer: string,
  ): (variables: Variables) => Operand {
    if (isObject(value)) return this.#readVariable(value, pointer);
    const allowed = field ? [scalarTypeOf(field.type)] : types;
    if (!isScalar(value) || !allowed.some((type) => type === typeof value)) {
      const hint = Array.isArray(value) ? '; a list goes with $in or $nin' : '';
      throw new FilterError({ pointer, message: `must be ${describeTypes(allowed)} or {"$variable": name}${hint}` });
    }
    const operand = literalOperand(value);
    return () => operand;
  }

  /** Reads the list of `$in` and `$nin`. @throws FilterError */
  readList(value: unknown, field: KnowledgeField | undefined, pointer: string): (variables: Variables) => OperandList {
    if (!Array.isArray(value)) throw new FilterError({ pointer, message: 'must be a list of values' });
    if (value.length > maxValues)
      throw new FilterError({ pointer, message: `has ${value.length} values, and ${maxValues} are allowed` });
    const literals = new Set<Scalar>();
    const open: ((variables: Variables) => Operand)[] = [];
    for (const [index, item] of (value as readonly unknown[]).entries()) {
      const operand = this.readOperand(item, field, ['string', 'number', 'boolean'], `${pointer}/${index}`);
      if (isScalar(item)) literals.add(item);
      else open.push(operand);
    }
    return (variables) => ({ literals, variables: open.map((operand) => operand(variables)) });
  }

  #readVariable(value: Readonly<Record<string, unknown>>, pointer: string): (variables: Variables) => Operand {
    const { $variable: name } = value;
    if (typeof name !== 'string' || name === '' || Object.keys(value).length > 1)
      throw new FilterError({ pointer, message: 'must be a value or {"$variable": name}, the name of a variable' });
    this.variables.add(name);
    return (variables) => variableOperand(Object.hasOwn(variables, name) ? variables[name] : undefined);
  }
}

const isScalar = (value: unknown): value is Scalar =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);

const described = { string: 'a string', number: 'a number', boolean: 'true or false' } as const;

const describeTypes = (types: readonly (keyof typeof described)[]): string =>
  types.map((type) => described[type]).join(', ');
