import type { Schema } from './schema.ts';

/** The schema of an object that has these members and no others. */
export const closedObject = <
  const Name extends string,
  const Properties extends { readonly [Required in Name]: Schema } & { readonly [name: string]: Schema },
>(
  required: readonly Name[],
  properties: Properties,
) => ({ type: 'object', additionalProperties: false, required, properties }) as const;

/** The schema of an object that may have these members and no others. */
export const partialObject = <const Properties extends { readonly [name: string]: Schema }>(
  properties: Properties,
  description?: string,
) => ({ type: 'object', additionalProperties: false, ...(description && { description }), properties }) as const;

type TypeName = NonNullable<Schema['type']>;
type Keywords = Omit<Schema, 'type' | 'description'>;

/** Makes the builder of a type's schemas: `integer('How many.')`, or `integer({ minimum: 1 }, 'How many.')`. */
function schemaOf<const Type extends TypeName>(type: Type) {
  type Described = { readonly type: Type; readonly description: string };
  function schema(description: string): Described;
  function schema<const More extends Keywords>(keywords: More, description: string): Described & More;
  function schema(keywords: Keywords | string, description = ''): Schema {
    return typeof keywords === 'string' ? { type, description: keywords } : { type, ...keywords, description };
  }
  return schema;
}

/** The bounds of numbers that frames have as uint32. */
export const uint32 = { minimum: 0, maximum: 4294967295 } as const;

export const string = schemaOf('string');
export const number = schemaOf('number');
export const integer = schemaOf('integer');
export const boolean = schemaOf('boolean');
export const array = schemaOf('array');
export const object = schemaOf('object');
