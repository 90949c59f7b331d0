import { Fault } from '../../../protocol/fault.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { describePointer, escapePointerToken, referenceTarget } from '../../../base/jsonPointer.ts';
import { branchKeywords, listKeywords, namedKeywords, ownFacts, schemaKeywords } from '../../../base/schemaKeywords.ts';

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
export const inlineReferences = (root: JsonSchema, path: string): JsonSchema =>
  new ReferenceInliner(root, path).read(root, { pointer: '', within: [] }) as JsonSchema;

/** Where a value of the schema is. */
interface Place {
  /** JSON pointer in the schema that is made. */
  readonly pointer: string;
  /** The references that led there, outermost first. */
  readonly within: readonly string[];
}

class ReferenceInliner {
  readonly #root: JsonSchema;
  readonly #path: string;
  #schemas = 0;

  constructor(root: JsonSchema, path: string) {
    this.#root = root;
    this.#path = path;
  }

  /** Reads a schema: an object, or a boolean, which stays as it is. */
  read(schema: unknown, place: Place): unknown {
    if (!isObject(schema)) return schema;
    if (++this.#schemas > maxSchemas)
      throw this.#refusal(place, `has more than ${maxSchemas} schemas, references included`);
    for (const keyword of Object.keys(schema)) {
      if (ownKeywords.has(keyword))
        throw this.#refusal(place, `has the keyword "${keyword}", which is no keyword of JSON Schema`);
      if (dynamicReferences.has(keyword))
        throw this.#refusal(place, `has ${keyword}, which a declaration cannot express`);
    }
    const { $ref: reference, ...others } = schema;
    if (reference === undefined) return this.#members(schema, place);
    const target = this.#resolve(reference, place);
    const inlined = this.read(target, { ...place, within: [...place.within, String(reference)] });
    const own = this.#members(others, place);
    return isObject(inlined) ? { ...inlined, ...own } : inlined;
  }

  #members(schema: JsonSchema, place: Place): JsonSchema {
    const shown = Object.entries(schema).filter(([keyword]) => !omittedKeywords.has(keyword));
    return Object.fromEntries(
      shown.map(([keyword, value]) => [keyword, this.#member(keyword, value, inside(place, keyword))]),
    );
  }

  #member(keyword: string, value: unknown, place: Place): unknown {
    if ((branchKeywords.has(keyword) || listKeywords.has(keyword)) && Array.isArray(value))
      return value.map((item: unknown, index) => this.read(item, inside(place, index)));
    if (keyword === 'properties' || namedKeywords.has(keyword)) {
      if (!isObject(value)) throw this.#refusal(place, 'must be an object of JSON Schemas');
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, this.read(inner, inside(place, name))]),
      );
    }
    if (keyword === 'examples' && !Array.isArray(value)) throw this.#refusal(place, 'must be a list');
    return keyword === 'items' || schemaKeywords.has(keyword) ? this.read(value, place) : value;
  }

  #resolve(reference: unknown, place: Place): unknown {
    const name = JSON.stringify(reference);
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
      throw this.#refusal(place, `refers to ${name}; only references within the schema, such as "#/$defs/x", are read`);
    if (reference === '#' || place.within.includes(reference))
      throw this.#refusal(place, `refers to ${name}, which contains itself`);
    const target = referenceTarget(this.#root, reference);
    if (target === undefined) throw this.#refusal(place, `refers to ${name}, which it does not have`);
    return target;
  }

  #refusal({ pointer }: Place, problem: string): Fault {
    return new Fault('MALFORMED_MESSAGE', `${this.#path}${describePointer(pointer)} ${problem}`);
  }
}

const inside = ({ pointer, within }: Place, token: string | number): Place => ({
  pointer: pointer + escapePointerToken(token),
  within,
});
