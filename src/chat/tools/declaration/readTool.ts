import { hasJsonType, isObject, tryParseJson, type JsonSchema } from '../../../base/jsonTypes.ts';
import { invalid, createReader, type ReadResult, type SchemaError } from '../../../protocol/schema.ts';
import type { ArgumentsSchema, Tool, ToolOrigin, EnumSource, ParamNotes } from '../../tool.ts';
import { referenceTarget, escapePointerToken } from '../../../base/jsonPointer.ts';
import { schemaPointer, enumTypes, enumTypesOf } from './enumSource.ts';
import type { DeclaredParameters, ListedParameter, ToolDeclaration } from './toolSchema.ts';
import { factSchemas, pythonTypes } from './toolSchema.ts';
import { branchKeywords, ownFacts, mapSchemas } from '../../../base/schemaKeywords.ts';

/** Reads a declaration of either form. @param warn receives what is understood, but should be written otherwise. */
export function readTool(declaration: ToolDeclaration, warn: WarnOfDeclaration = () => undefined): ReadResult<Tool> {
  if (!('function' in declaration)) return readMembers(declaration, '', warn);
  const { function: definition, consequential: outer } = declaration;
  const { description = '', strict = false, consequential: inner } = definition;
  if (inner !== undefined && outer !== undefined && inner !== outer)
    return invalid('/function/consequential', `is not what stands next to "function": ${outer}`);
  if (strict) {
    const message = 'is not used: "strict" of the node is for all its tools; set it there';
    warn({ pointer: '/function/strict', message });
  }
  if (description === '')
    warn({ pointer: '/function', message: 'has no description: a model knows it by its name only' });
  return readMembers({ ...definition, description, consequential: inner ?? outer }, '/function', warn);
}

interface Members {
  readonly name: string;
  readonly description: string;
  readonly consequential?: boolean | undefined;
  readonly parameters?: DeclaredParameters;
}

function readMembers(
  { name, description, consequential = false, parameters: declared = [] }: Members,
  pointer: ToolOrigin['pointer'],
  warn: WarnOfDeclaration,
): ReadResult<Tool> {
  const reader = new SchemaReader(warn);
  const place = `${pointer}/parameters`;
  // OpenAI's `{}`: a function without parameters.
  const parameters = Object.keys(declared).length > 0 ? declared : [];
  const schema = isList(parameters)
    ? readList(parameters, place, reader)
    : reader.schema(parameters, { pointer: place, path: '', required: true });
  if (schema['type'] !== 'object') reader.reject(`${place}/type`, 'must be "object": arguments are named');
  for (const { pointer: at, reference } of reader.references)
    if (referenceTarget(schema, reference) === undefined)
      reader.reject(
        at,
        `refers to ${JSON.stringify(reference)}, which the parameters do not have: write "#/$defs/NAME"`,
      );
  reader.end(place);
  if (reader.errors.length > 0) return { ok: false, errors: reader.errors };
  const list = isList(parameters) ? parameters.map((param) => param.name) : undefined;
  const origin: ToolOrigin = { pointer, ...(list && { list }) };
  const enumSources = reader.enumSources.map((source) => ({
    ...source,
    pointer: schemaPointer(source.pointer.slice(place.length), list),
  }));
  const tool = { name, description, consequential, parameters: schema as ArgumentsSchema, notes: reader.notes, origin };
  return { ok: true, value: { ...tool, ...(enumSources.length > 0 && { enumSources }) } };
}

const isList = (parameters: DeclaredParameters): parameters is readonly ListedParameter[] => Array.isArray(parameters);

function readList(params: readonly ListedParameter[], pointer: string, reader: SchemaReader): ArgumentsSchema {
  const names = new Set<string>();
  const properties = params.map((param, index) => {
    const place = `${pointer}/${index}`;
    if (names.has(param.name)) reader.reject(`${place}/name`, `is declared twice: "${param.name}"`);
    names.add(param.name);
    return [param.name, readParameter(param, place, reader)] as const;
  });
  const required = params.filter((param) => param.required ?? true).map(({ name }) => name);
  return { type: 'object', properties: Object.fromEntries(properties), ...(required.length > 0 && { required }) };
}

// Keys in the order that model families were trained on; absent ones are omitted.
function readParameter(param: ListedParameter, pointer: string, reader: SchemaReader) {
  const { name, type: typeName, description, required = true, enum_from, enum: _enum, items: _items, ...facts } = param;
  if (Object.keys(facts).length > 0) reader.note({ pointer, path: name, required }, facts);
  reader.enumSource(param, { pointer, path: name, required });
  const type = reader.typeName(typeName, `${pointer}/type`);
  const loose = reader.loose({ ...param, required: undefined }, type, pointer);
  const { enum: values, items } = loose as Pick<ListedParameter, 'enum' | 'items'>;
  for (const [index, value] of (values ?? []).entries()) {
    // A valid argument can never equal an enum value of another type.
    if (hasJsonType(value, type)) continue;
    const message = `must be of the parameter's type ${type}, not ${JSON.stringify(value)}`;
    reader.reject(`${pointer}/enum/${index}`, message);
  }
  return {
    type,
    ...(description !== undefined && { description }),
    ...(values && { enum: values }),
    ...(enum_from !== undefined && { enum_from }),
    ...(items && { items: reader.schema(items, { pointer: `${pointer}/items`, path: `${name}[]`, required }) }),
  };
}

/** Receives what is understood in a declaration, and should be written in another way. */
export type WarnOfDeclaration = (warning: SchemaError) => void;

/** A position in the declared parameters of a tool. */
export interface SchemaPosition {
  /** JSON pointer into the declaration. */
  readonly pointer: string;
  /** Path of the parameter (`place.city`, `items[].name`); "" = all arguments; undefined: no parameter has this schema. */
  readonly path: string | undefined;
  /** Whether its object must have the parameter. */
  readonly required: boolean;
  readonly depth?: number;
}

const readFacts = createReader({ type: 'object', properties: factSchemas });
const maxSchemaDepth = 64;
const maxLooseWarnings = 10;
const jsonTypeOf: ReadonlyMap<unknown, string> = new Map(Object.entries(pythonTypes));

// Models are not shown facts, but the values of `enum_from` in their place.
const hiddenFacts: ReadonlySet<string> = new Set(ownFacts.filter((name) => name !== 'enum_from'));
const isOwnFact = (name: string): boolean => ownFacts.some((fact) => fact === name);

/** Reads the JSON Schemas of parameters: collects facts by path, returns the schemas without them, in JSON's types. */
class SchemaReader {
  /** Facts of the parameters that have any, by path. */
  readonly notes = new Map<string, ParamNotes>();
  /** The parameters with `enum_from`; their pointers are into the declaration. */
  readonly enumSources: EnumSource[] = [];
  readonly errors: SchemaError[] = [];
  /** What schemas refer to, with the pointers of the references. */
  readonly references: { readonly pointer: string; readonly reference: unknown }[] = [];
  readonly #warn: WarnOfDeclaration;
  #looseWarnings = 0;

  constructor(warn: WarnOfDeclaration) {
    this.#warn = warn;
  }

  reject(pointer: string, message: string): void {
    this.errors.push({ pointer, message });
  }

  /** Adds facts of a parameter; those that it has already stay. */
  note({ path, required }: SchemaPosition, facts: Omit<ParamNotes, 'required'>): void {
    if (path === undefined) return;
    const key = notesKey(path);
    this.notes.set(key, { required, ...facts, ...this.notes.get(key) });
  }

  /** The name of a type in JSON Schema; names of Python are a warning. */
  typeName<Name>(name: Name, pointer: string): Name | string {
    const jsonName = jsonTypeOf.get(name);
    if (jsonName === undefined) return name;
    const written = JSON.stringify(name);
    this.#warnOfLoose(pointer, `is ${written}, which is read as "${jsonName}"; write "${jsonName}"`);
    return jsonName;
  }

  /** Records where the values of a parameter come from, if they come from a variable. */
  enumSource(
    { type: named, enum: values, enum_from: variable }: JsonSchema,
    { pointer, path = '' }: SchemaPosition,
  ): void {
    if (typeof variable !== 'string') return;
    const place = `${pointer}/enum_from`;
    if (values !== undefined) this.reject(place, 'stands next to "enum"; leave one of the two out');
    const toJsonName = (name: unknown): unknown => jsonTypeOf.get(name) ?? name;
    const type = Array.isArray(named) ? named.map(toJsonName) : toJsonName(named);
    const types = enumTypesOf(type);
    if (types) this.enumSources.push({ pointer, path, variable, types });
    else {
      const fix = type === 'array' ? '; move it into "items"' : '';
      const given = named === undefined ? 'a parameter without a type' : JSON.stringify(named);
      this.reject(place, `is for the types ${enumTypes.join(', ')}, not for ${given}${fix}`);
    }
  }

  /** Reads the schema of a position and all schemas in it. */
  schema(declared: JsonSchema, position: SchemaPosition): JsonSchema {
    const { pointer, depth = 0 } = position;
    if (depth > maxSchemaDepth) {
      this.reject(pointer, `is nested deeper than ${maxSchemaDepth} levels`);
      return {};
    }
    const type = jsonTypeOf.get(declared['type']) ?? declared['type'];
    const schema = this.loose(declared, type, pointer);
    this.#facts(schema, position);
    this.#memberKeywords(schema, position);
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
    return Object.fromEntries(
      inTrainedOrder(Object.entries(schema))
        .filter(([keyword]) => !hiddenFacts.has(keyword))
        .map(([keyword, value]) => [keyword, this.#keyword(keyword, value, required, position)]),
    );
  }

  /** A schema whose keywords say what was meant. @param type its type, with the name of JSON. */
  loose(schema: JsonSchema, type: unknown, pointer: string): JsonSchema {
    return readLooseKeywords(schema, type, (keyword, message) => this.#warnOfLoose(`${pointer}/${keyword}`, message));
  }

  /** Warns of what was not warned of one by one. */
  end(pointer: string): void {
    const more = this.#looseWarnings - maxLooseWarnings;
    if (more > 0) this.#warn({ pointer, message: `has ${more} more keywords that are no JSON Schema` });
  }

  #warnOfLoose(pointer: string, message: string): void {
    if (++this.#looseWarnings <= maxLooseWarnings) this.#warn({ pointer, message });
  }

  #facts(schema: JsonSchema, position: SchemaPosition): void {
    const { pointer, path } = position;
    const names = Object.keys(factSchemas).filter((name) => Object.hasOwn(schema, name));
    if (names.length === 0) return;
    if (path === undefined || path === '') {
      const where =
        path === '' ? 'of each parameter under "properties"' : 'of the parameter that this schema is used for';
      for (const name of names.filter(isOwnFact))
        this.reject(`${pointer}/${name}`, `is a fact of one parameter; move it to the schema ${where}`);
      return;
    }
    const reading = readFacts(Object.fromEntries(names.map((name) => [name, schema[name]])));
    if (reading.ok) {
      const { enum_from: _, ...facts } = reading.value;
      if (Object.keys(facts).length > 0) this.note(position, facts);
      this.enumSource(schema, position);
    } else for (const error of reading.errors) this.reject(pointer + error.pointer, error.message);
  }

  // Only the keywords that this server reads; the others are only put into the prompt.
  #memberKeywords({ properties, required, allOf }: JsonSchema, { pointer, path }: SchemaPosition): void {
    if (properties === undefined && path !== '') return;
    if (properties !== undefined && !isObject(properties))
      this.reject(`${pointer}/properties`, 'must be an object of JSON Schemas');
    else if (path === '')
      for (const [name, schema] of Object.entries(properties ?? {}))
        if (!isObject(schema)) this.reject(`${pointer}/properties${escapePointerToken(name)}`, 'must be a JSON Schema');
    const names: unknown = required ?? [];
    if (!Array.isArray(names) || names.some((name) => typeof name !== 'string'))
      this.reject(`${pointer}/required`, 'must be a list of names');
    else if (isObject(properties) && allOf === undefined)
      for (const name of names.filter((each: string) => !Object.hasOwn(properties, each)))
        this.#warnOfLoose(`${pointer}/required`, `names ${JSON.stringify(name)}, which "properties" does not declare`);
  }

  #keyword(keyword: string, value: unknown, required: ReadonlySet<unknown>, position: SchemaPosition): unknown {
    const { path, depth = 0 } = position;
    const pointer = `${position.pointer}${escapePointerToken(keyword)}`;
    if (keyword === '$ref') this.references.push({ pointer, reference: value });
    if (keyword === 'type')
      return Array.isArray(value)
        ? [...new Set(value.map((name: unknown, index) => this.typeName(name, `${pointer}/${index}`)))]
        : this.typeName(value, pointer);
    const parameterBelow = (name: string): Pick<SchemaPosition, 'path' | 'required'> => {
      if (keyword === 'properties' && path !== undefined)
        return { path: path === '' ? name : `${path}.${name}`, required: required.has(name) };
      if (keyword === 'items' && path !== undefined && isObject(value))
        return { path: `${path}[]`, required: position.required };
      return branchKeywords.has(keyword) ? position : { path: undefined, required: false };
    };
    // true and false are schemas, too.
    return mapSchemas(keyword, value, (schema, below, name = '') =>
      isObject(schema)
        ? this.schema(schema, { ...parameterBelow(name), pointer: position.pointer + below, depth: depth + 1 })
        : schema,
    );
  }
}

/** Keywords in the order that models were trained on: `required` after `properties`. Small models follow nothing else. */
function inTrainedOrder(keywords: readonly (readonly [string, unknown])[]): readonly (readonly [string, unknown])[] {
  const [required, properties] = ['required', 'properties'].map((name) => keywords.findIndex(([key]) => key === name));
  if (required === undefined || properties === undefined || required < 0 || properties < required) return keywords;
  const [before, after] = [keywords.slice(0, properties + 1), keywords.slice(properties + 1)];
  return [...before.filter(([key]) => key !== 'required'), ...keywords.slice(required, required + 1), ...after];
}

/** The key of a parameter's path in the notes of a tool: all items of a list are one parameter (`items[2].name` -> `items[].name`). */
export const notesKey = (path: string): string => path.replaceAll(/\[\d+\]/g, '[]');

/** The facts of a parameter, by its path; what it does not say is that of the parameter it is in. */
export function notesOf({ notes }: Tool, path: string): Partial<ParamNotes> {
  let facts: Partial<ParamNotes> = {};
  for (let key = notesKey(path); key !== ''; key = parentOf(key)) facts = { ...notes.get(key), ...facts };
  return facts;
}

const parentOf = (key: string): string => key.slice(0, Math.max(key.lastIndexOf('.'), key.lastIndexOf('['), 0));

/** Receives what was understood: the keyword and the end of a sentence about it. */
type WarnOfKeyword = (keyword: string, message: string) => void;

/**
 * A schema whose keywords say what was meant: numbers and booleans that were written as texts, values of a list's items that
 * stand next to `items`, and `optional` or a boolean `required`, which have no effect in a parameter's own schema.
 * @param type its type, with the name of JSON.
 */
function readLooseKeywords(schema: JsonSchema, type: unknown, warn: WarnOfKeyword): JsonSchema {
  const read = Object.entries(schema).flatMap(([keyword, value]): readonly (readonly [string, unknown])[] => {
    // As in draft 3; next to `properties` it could mean either object.
    if (keyword === 'optional' || (keyword === 'required' && typeof value === 'boolean' && !('properties' in schema))) {
      warn(keyword, 'is not used: a parameter is optional if "required" of its object does not name it');
      return [];
    }
    if (keyword === 'enum') return [[keyword, typedValues(value, type, warn)]];
    if (!counts.has(keyword) || typeof value !== 'string') return [[keyword, value]];
    const count = typedValue(value, 'number');
    if (count !== value) warn(keyword, `is a text, which is read as ${count}; write it without quotes`);
    return [[keyword, count]];
  });
  return withItemValues(Object.fromEntries(read), type, warn);
}

const counts: ReadonlySet<string> = new Set(
  'minItems maxItems minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum'.split(' '),
);

function typedValues(values: unknown, type: unknown, warn: WarnOfKeyword): unknown {
  if (!Array.isArray(values) || type === 'string' || typeof type !== 'string') return values;
  const typed = values.map((value: unknown) => (typeof value === 'string' ? typedValue(value, type) : value));
  if (typed.some((value, index) => value !== values[index]))
    warn('enum', `has texts, which are read as values of the type ${type}; write them without quotes`);
  return typed;
}

/** What a text says as a value of a type; the text itself if it says none. */
function typedValue(text: string, type: string): unknown {
  const value = tryParseJson(/^(?:true|false)$/i.test(text) ? text.toLowerCase() : text);
  return value !== undefined && hasJsonType(value, type) ? value : text;
}

// A list can equal none of them.
function withItemValues(schema: JsonSchema, type: unknown, warn: WarnOfKeyword): JsonSchema {
  const { items, enum: values, ...rest } = schema;
  const isOfItems = type === 'array' && isObject(items) && Array.isArray(values) && !values.some(Array.isArray);
  if (!isOfItems || 'enum' in items) return schema;
  warn('enum', 'has no list, so it is read as the values of the items; move it into "items"');
  return { ...rest, items: { ...items, enum: values } };
}
