import { Fault } from '../../../protocol/fault.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { describePointer, escapePointerToken, referenceTarget } from '../../../base/jsonPointer.ts';
import { namedKeywords, ownFacts, mapSchemas } from '../../../base/schemaKeywords.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

// What a model is not shown: names and definitions, which stand where they are referred to.
const omittedKeywords: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', '$defs', 'definitions']);
const dynamicReferences: ReadonlySet<string> = new Set(['$dynamicRef', '$recursiveRef']);
// Keywords of turngraph would be read as such, whatever the server means by them.
const ownKeywords: ReadonlySet<string> = new Set(ownFacts);

const maxSchemas = 4096;

/**
 * A JSON Schema as the declaration of a tool takes it: what `$ref` refers to stands in its place.
 * @param path names the schema in errors.
 * @throws Fault MALFORMED_MESSAGE with the place for what a declaration cannot express.
 */
export function inlineReferences(root: JsonSchema, path: string): JsonSchema {
  let schemas = 0;
  const refusal = (pointer: string, problem: string): Fault =>
    new Fault('MALFORMED_MESSAGE', `${path}${describePointer(pointer)} ${problem}`);

  /** Reads a schema, or a boolean, which stays as it is; `within` are the references that led to it. */
  function read(schema: unknown, pointer: string, within: readonly unknown[]): unknown {
    if (!isObject(schema)) return schema;
    if (++schemas > maxSchemas) throw refusal(pointer, `has more than ${maxSchemas} schemas, references included`);
    for (const keyword of Object.keys(schema)) {
      if (ownKeywords.has(keyword))
        throw refusal(pointer, `has the keyword "${keyword}", which is no keyword of JSON Schema`);
      if (dynamicReferences.has(keyword)) throw refusal(pointer, `has ${keyword}, which a declaration cannot express`);
    }
    const { $ref: reference, ...others } = schema;
    const target =
      reference === undefined ? {} : read(resolve(reference, pointer, within), pointer, [...within, reference]);
    const shown = Object.entries(others).filter(([keyword]) => !omittedKeywords.has(keyword));
    const own = shown.map(([keyword, value]) => {
      const place = pointer + escapePointerToken(keyword);
      if (namedKeywords.has(keyword) && !isObject(value)) throw refusal(place, 'must be an object of JSON Schemas');
      if (keyword === 'examples' && !Array.isArray(value)) throw refusal(place, 'must be a list');
      return [keyword, mapSchemas(keyword, value, (inner, below) => read(inner, pointer + below, within))];
    });
    return isObject(target) ? { ...target, ...Object.fromEntries(own) } : target;
  }

  function resolve(reference: unknown, pointer: string, within: readonly unknown[]): unknown {
    const name = JSON.stringify(reference);
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
      throw refusal(pointer, `refers to ${name}; only references within the schema, such as "#/$defs/x", are read`);
    if (reference === '#' || within.includes(reference))
      throw refusal(pointer, `refers to ${name}, which contains itself`);
    const target = referenceTarget(root, reference);
    if (target === undefined) throw refusal(pointer, `refers to ${name}, which it does not have`);
    return target;
  }

  return read(root, '', []) as JsonSchema;
}
