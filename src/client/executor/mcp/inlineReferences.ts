import { Fault } from '../../../protocol/fault.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { describePointer, escapePointerToken, pointerTokens } from '../../../base/jsonPointer.ts';
import { branchKeywords, listKeywords, namedKeywords, ownFacts, schemaKeywords } from '../../../base/schemaKeywords.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

// What a model is not shown: names and definitions, which stand where they are referred to.
const left: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', '$defs', 'definitions']);
const dynamic: ReadonlySet<string> = new Set(['$dynamicRef', '$recursiveRef']);
// Facts of turngraph would be read as such, whatever the server means by them.
const facts: ReadonlySet<string> = new Set(ownFacts);

const maxSchemas = 4096;

/**
 * A JSON Schema as the declaration of a tool takes it: what `$ref` refers to stands in its place.
 * @param path names the schema in errors.
 * @throws Fault MALFORMED_MESSAGE with the place for what a declaration cannot express.
 */
export function inlineReferences(root: JsonSchema, path: string): JsonSchema {
  let schemas = 0;

  const read = (schema: unknown, pointer: string, within: readonly string[]): unknown => {
    if (!isObject(schema)) return schema;
    if (++schemas > maxSchemas)
      throw refusal(path, pointer, `has more than ${maxSchemas} schemas, references included`);
    for (const keyword of Object.keys(schema)) {
      if (facts.has(keyword))
        throw refusal(path, pointer, `has the keyword "${keyword}", which is no keyword of JSON Schema`);
      if (dynamic.has(keyword)) throw refusal(path, pointer, `has ${keyword}, which a declaration cannot express`);
    }
    const { $ref: reference, ...others } = schema;
    if (reference === undefined) return members(schema, pointer, within);
    const target = resolve(reference, pointer, within);
    const inlined = read(target, pointer, [...within, String(reference)]);
    const own = members(others, pointer, within);
    return isObject(inlined) ? { ...inlined, ...own } : inlined;
  };

  const members = (schema: JsonSchema, pointer: string, within: readonly string[]): JsonSchema =>
    Object.fromEntries(
      Object.entries(schema)
        .filter(([keyword]) => !left.has(keyword))
        .map(([keyword, value]) => [keyword, member(keyword, value, pointer + escapePointerToken(keyword), within)]),
    );

  const member = (keyword: string, value: unknown, pointer: string, within: readonly string[]): unknown => {
    if ((branchKeywords.has(keyword) || listKeywords.has(keyword)) && Array.isArray(value))
      return value.map((item: unknown, index) => read(item, `${pointer}/${index}`, within));
    if (keyword === 'properties' || namedKeywords.has(keyword)) {
      if (!isObject(value)) throw refusal(path, pointer, 'must be an object of JSON Schemas');
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, read(inner, pointer + escapePointerToken(name), within)]),
      );
    }
    if (keyword === 'examples' && !Array.isArray(value)) throw refusal(path, pointer, 'must be a list');
    return keyword === 'items' || schemaKeywords.has(keyword) ? read(value, pointer, within) : value;
  };

  const resolve = (reference: unknown, pointer: string, within: readonly string[]): unknown => {
    const name = JSON.stringify(reference);
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
      throw refusal(
        path,
        pointer,
        `refers to ${name}; only references within the schema, such as "#/$defs/x", are read`,
      );
    if (reference === '#' || within.includes(reference))
      throw refusal(path, pointer, `refers to ${name}, which contains itself`);
    let target: unknown = root;
    for (const token of pointerTokens(decodeURIComponent(reference.slice(1)))) {
      const entries: unknown = target;
      const isMember = (isObject(entries) || Array.isArray(entries)) && Object.hasOwn(entries, token);
      target = isMember ? (entries as Readonly<Record<string, unknown>>)[token] : undefined;
    }
    if (target === undefined) throw refusal(path, pointer, `refers to ${name}, which it does not have`);
    return target;
  };

  return read(root, '', []) as JsonSchema;
}

const refusal = (path: string, pointer: string, problem: string): Fault =>
  new Fault('MALFORMED_MESSAGE', `${path}${describePointer(pointer)} ${problem}`);
