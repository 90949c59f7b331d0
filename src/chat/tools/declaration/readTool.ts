import { hasJsonType } from '../../../base/jsonTypes.ts';
import { invalid, type ReadResult } from '../../../protocol/schema.ts';
import type { ArgumentsSchema, Tool, ToolOrigin } from '../../tool.ts';
import { referenceTarget } from '../../../base/jsonPointer.ts';
import { schemaPointer } from './enumSource.ts';
import { SchemaReader, type WarnOfDeclaration } from './schemaReader.ts';
import type { DeclaredParameters, ListedParameter, ToolDeclaration } from './toolSchema.ts';

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
  { name, description, consequential = false, parameters = [] }: Members,
  pointer: ToolOrigin['pointer'],
  warn: WarnOfDeclaration,
): ReadResult<Tool> {
  const reader = new SchemaReader(warn);
  const place = `${pointer}/parameters`;
  const schema = isList(parameters) ? readList(parameters, place, reader) : readSchema(parameters, place, reader);
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
  const tool: Tool = { name, description, consequential, parameters: schema, notes: reader.notes, origin };
  return { ok: true, value: { ...tool, ...(enumSources.length > 0 && { enumSources }) } };
}

const isList = (parameters: DeclaredParameters): parameters is readonly ListedParameter[] => Array.isArray(parameters);

function readSchema(
  declared: Exclude<DeclaredParameters, readonly unknown[]>,
  pointer: string,
  reader: SchemaReader,
): ArgumentsSchema {
  const schema = reader.schema(declared, { pointer, path: '', required: true });
  if (schema['type'] !== 'object') reader.reject(`${pointer}/type`, 'must be "object": arguments are named');
  return schema as ArgumentsSchema;
}

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
  const { enum: values, items } = reader.loose(param, type, pointer) as Pick<ListedParameter, 'enum' | 'items'>;
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
