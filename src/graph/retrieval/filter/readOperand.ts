import { isObject } from '../../../base/jsonTypes.ts';
import type { SchemaError } from '../../../protocol/schema.ts';
import type { KnowledgeField } from '../../storage/knowledge/knowledge.ts';
import {
  literalOperand,
  scalarTypeOf,
  variableOperand,
  type Operand,
  type OperandList,
  type Scalar,
} from './operators.ts';

const maxValues = 1000;

/** The first error of a filter. */
export class FilterError extends Error {
  readonly schemaError: SchemaError;

  constructor(error: SchemaError) {
    super(`${error.pointer} ${error.message}`);
    this.schemaError = error;
  }
}

type Variables = Readonly<Record<string, string>>;

/** Reads the values that the conditions of one filter compare with, and collects the variables among them. */
export class OperandReader {
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
