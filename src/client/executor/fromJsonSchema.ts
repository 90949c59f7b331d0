/** A JSON Schema of a tool's arguments: an object, as arguments have names. */
export interface ParametersSchema {
  readonly type?: 'object';
  readonly properties?: { readonly [name: string]: object | boolean };
  readonly required?: readonly string[];
  readonly [keyword: string]: unknown;
}

/**
 * The TypeScript type of the values that a JSON Schema literal accepts. It knows `type`, `enum`, `const`, `properties`,
 * `required`, `additionalProperties`, `items`, `prefixItems`, `anyOf`, `oneOf` and `allOf`; a value of which they say
 * nothing is unknown. Other keywords, such as `minimum`, are checked when a call comes.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer One)[] } | { readonly oneOf: readonly (infer One)[] }
      ? OneOf<One>
      : S extends { readonly allOf: readonly (infer Part)[] }
        ? AllOf<Part>
        : S extends { readonly type: infer Type }
          ? OfType<Type extends readonly (infer One)[] ? One : Type, S>
          : S extends { readonly properties: object }
            ? OfType<'object', S>
            : unknown;

type OneOf<One> = One extends unknown ? FromJsonSchema<One> : never;

// A union in a position of a function's parameter becomes an intersection.
type AllOf<Part> = (Part extends unknown ? (value: FromJsonSchema<Part>) => void : never) extends (
  value: infer All,
) => void
  ? All
  : never;

// Distributes over a list of types.
type OfType<Type, S> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? ListOf<S>
          : Type extends 'object'
            ? ObjectOf<S>
            : unknown;

type ListOf<S> = S extends { readonly prefixItems: infer Items extends readonly unknown[] }
  ? { readonly [Index in keyof Items]: FromJsonSchema<Items[Index]> }
  : S extends { readonly items: infer Item }
    ? readonly FromJsonSchema<Item>[]
    : readonly unknown[];

type ObjectOf<S> = S extends { readonly properties: infer Properties }
  ? Flat<MembersOf<Properties, S extends { readonly required: readonly (infer Name)[] } ? Name : never>>
  : S extends { readonly additionalProperties: infer Values extends object }
    ? { readonly [name: string]: FromJsonSchema<Values> }
    : { readonly [name: string]: unknown };

type MembersOf<Properties, Required> = {
  readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromJsonSchema<Properties[Name]>;
} & {
  readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromJsonSchema<Properties[Name]>;
};

// One object type instead of an intersection, for the tooltips of editors.
type Flat<Members> = { readonly [Name in keyof Members]: Members[Name] };
