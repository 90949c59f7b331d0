import { isObject, isSameJson, type JsonSchema, jsonTypeOf } from '../../base/jsonTypes.ts';
import { allowedValues } from '../../base/schemaKeywords.ts';
import { memoized } from '../../base/memoized.ts';
import { referenceTarget } from '../../base/jsonPointer.ts';
import { isOfType, isJsonObject, JsonNumber, stringifyJson, type JsonValue } from '../json/value.ts';
import type { ArgumentsSchema, Tool } from '../tool.ts';

/**
 * What a JSON Schema says of a value, once `$ref` and `allOf` are looked through. It has objects that contain themselves where
 * the schema refers to itself, so only a value may lead through it.
 */
export interface ResolvedSchema {
  /** Absent: any type. */
  readonly type?: readonly string[];
  /** The only values, also those of `const`. */
  readonly enum?: readonly unknown[];
  /** Its default values, one from each of its parts that has one. */
  readonly defaults?: readonly unknown[];
  readonly properties?: ReadonlyMap<string, ResolvedSchema>;
  readonly required?: ReadonlySet<string>;
  readonly additionalProperties?: unknown;
  readonly items?: ResolvedSchema;
  /** The alternatives of `anyOf` and `oneOf`, each with all that the schema says otherwise, and none with `anyOf`. */
  readonly anyOf?: readonly ResolvedSchema[];
}

// What is beyond these bounds restricts nothing.
const maxParts = 50_000;
const maxAlternatives = 64;
const maxChoices = 16;

// A turn has its own schema where it sets an enum.
const resolve = memoized((parameters: ArgumentsSchema) => new SchemaResolver(parameters).resolve());

/** The schema of the arguments of a tool. It is resolved once. */
export const resolvedParameters = ({ parameters }: Pick<Tool, 'parameters'>): ResolvedSchema => resolve(parameters);

class SchemaResolver {
  readonly #root: JsonSchema;
  readonly #ids = new Map<JsonSchema, number>();
  readonly #resolved = new Map<string, ResolvedSchema>();
  #parts = 0;
  // In place of a recursion, which a long chain of references would make too deep.
  readonly #unfilled: (() => void)[] = [];

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  resolve(): ResolvedSchema {
    const schema = this.#schemaOf([this.#root]);
    for (const fill of this.#unfilled) fill();
    return schema;
  }

  #schemaOf(schemas: readonly unknown[]): ResolvedSchema {
    const parts = this.#partsOf(schemas);
    return this.#remembered('any', parts, () => {
      const alternatives = this.#alternatives(parts, new Set());
      const [first = parts, ...others] = alternatives.length >= maxAlternatives ? [] : alternatives;
      if (others.length === 0) return this.#membersOf(first);
      return { anyOf: alternatives.map((each) => this.#remembered('one', each, () => this.#membersOf(each))) };
    });
  }

  #remembered(kind: string, parts: readonly JsonSchema[], create: () => ResolvedSchema): ResolvedSchema {
    const ids = parts.map((part) => this.#idOf(part)).sort((a, b) => a - b);
    const key = `${kind}${ids.join()}`;
    const found = this.#resolved.get(key);
    if (found) return found;
    const resolved: ResolvedSchema = {};
    if (this.#parts > maxParts) return resolved;
    this.#resolved.set(key, resolved);
    this.#unfilled.push(() => Object.assign(resolved, create()));
    return resolved;
  }

  #idOf(part: JsonSchema): number {
    const id = this.#ids.get(part) ?? this.#ids.size;
    this.#ids.set(part, id);
    return id;
  }

  /** Schemas with what they refer to and what they must match as well, each once. */
  #partsOf(schemas: readonly unknown[]): readonly JsonSchema[] {
    const parts = new Set(schemas.filter(isObject));
    for (const { $ref, allOf } of parts) {
      const others = [referenceTarget(this.#root, $ref), ...(Array.isArray(allOf) ? (allOf as unknown[]) : [])];
      for (const other of others) if (isObject(other)) parts.add(other);
    }
    this.#parts += parts.size;
    return [...parts];
  }

  /** The schemas with one branch of each choice; a choice within itself restricts nothing. */
  #alternatives(parts: readonly JsonSchema[], chosen: ReadonlySet<JsonSchema>): readonly (readonly JsonSchema[])[] {
    const choice = parts.find((part) => branchesOf(part) && !chosen.has(part));
    const isWithinBounds = chosen.size < maxChoices && this.#parts <= maxParts;
    const branches = choice && isWithinBounds ? branchesOf(choice) : undefined;
    if (!choice || !branches) return [parts];
    const all: (readonly JsonSchema[])[] = [];
    for (const branch of branches) {
      all.push(...this.#alternatives(this.#partsOf([...parts, branch]), new Set([...chosen, choice])));
      if (all.length >= maxAlternatives) break;
    }
    return all;
  }

  #membersOf(parts: readonly JsonSchema[]): ResolvedSchema {
    const type = parts.map(typesOf).reduce(commonTypes, undefined);
    const values = parts.map(allowedValues).reduce(commonValues, undefined);
    const properties = parts.map((part) => part['properties']).filter(isObject);
    const names = new Set(properties.flatMap(Object.keys));
    const items = parts.map((part) => part['items']).filter(isObject);
    const additional = parts.map((part) => part['additionalProperties']).filter((value) => value !== undefined);
    const defaults = parts.flatMap((part) => ('default' in part ? [part['default']] : []));
    const required = parts.flatMap((part) => (Array.isArray(part['required']) ? part['required'].map(String) : []));
    const member = (name: string): ResolvedSchema =>
      this.#schemaOf(properties.filter((each) => Object.hasOwn(each, name)).map((each) => each[name]));
    return {
      ...(type && { type }),
      ...(values && { enum: values }),
      ...(defaults.length > 0 && { defaults }),
      ...(properties.length > 0 && { properties: new Map([...names].map((name) => [name, member(name)])) }),
      ...(required.length > 0 && { required: new Set(required) }),
      ...(additional.length > 0 && { additionalProperties: !additional.includes(false) && additional[0] }),
      ...(items.length > 0 && { items: this.#schemaOf(items) }),
    };
  }
}

function branchesOf({ anyOf, oneOf }: JsonSchema): readonly unknown[] | undefined {
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) && branches.length > 0 ? branches : undefined;
}

function typesOf({ type, nullable }: JsonSchema): readonly string[] | undefined {
  return type === undefined ? undefined : [...[type].flat().map(String), ...(nullable === true ? ['null'] : [])];
}

/** What two schemas allow, of which each may say nothing. */
const together =
  <Item>(common: (a: readonly Item[], b: readonly Item[]) => readonly Item[]) =>
  (a: readonly Item[] | undefined, b: readonly Item[] | undefined): readonly Item[] | undefined =>
    a && b ? common(a, b) : (a ?? b);

/** The types that two lists allow; an integer is a number. */
const commonTypes = together<string>((a, b) => {
  const allows = (types: readonly string[], type: string): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  return [...new Set([...a.filter((type) => allows(b, type)), ...b.filter((type) => allows(a, type))])];
});

const commonValues = together<unknown>((a, b) => a.filter((one) => b.some((other) => isSameJson(one, other))));

/** The alternative that a value was most likely written for: by type and constants, then by the most members. */
export function alternativeFor(value: JsonValue, schema: ResolvedSchema): ResolvedSchema {
  const { anyOf: [first, ...others] = [] } = schema;
  if (!first) return schema;
  return others.reduce((best, other) => (fitOf(value, other) > fitOf(value, best) ? other : best), first);
}

function fitOf(value: JsonValue, schema: ResolvedSchema): number {
  if (schema.type && !schema.type.some((type) => isOfType(value, type))) return -Infinity;
  if (schema.enum && !schema.enum.some((allowed) => isSameValue(allowed, value))) return -mismatch;
  if (!isJsonObject(value)) return 0;
  const { properties, required = [] } = schema;
  const missing = [...required].filter((name) => !value.has(name));
  const members = [...value].map(([name, member]) => {
    const property = properties?.get(name);
    const isOther = property?.enum && !property.enum.some((allowed) => isSameValue(allowed, member));
    return isOther ? -mismatch : property ? 1 : -1;
  });
  return members.reduce((sum, fit) => sum + fit, 0) - missing.length;
}

const mismatch = 1000;

/** The members that an object may have, in whichever of its alternatives. */
export const propertiesOf = (schema: ResolvedSchema | undefined): NonNullable<ResolvedSchema['properties']> =>
  schema?.anyOf
    ? new Map(schema.anyOf.flatMap(({ properties = [] }) => [...properties]).toReversed())
    : (schema?.properties ?? new Map());

/** The JSON Schema types of the values that a schema allows; undefined: any, or unknown. */
export function expectedTypes(schema: ResolvedSchema | undefined): ReadonlySet<string> | undefined {
  const types = (schema?.anyOf ?? [schema]).map((each) => {
    if (each?.enum) return each.enum.map(jsonTypeOf);
    return each?.type ?? (each?.properties ? ['object'] : each?.items ? ['array'] : undefined);
  });
  return types.every((each) => each !== undefined) ? new Set(types.flat()) : undefined;
}

/** Whether a declared value is that of a model. 2 and 2.0 are the same number. */
export const isSameValue = (declared: unknown, value: JsonValue): boolean =>
  typeof declared === 'number'
    ? value instanceof JsonNumber && Number(value.digits) === declared
    : stringifyJson(declared) === stringifyJson(value);
