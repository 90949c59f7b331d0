/**
 * The TypeScript type of the values that a JSON Schema literal accepts. It knows `type`, `enum`, `const`, `properties`,
 * `required`, `additionalProperties`, `items`, `prefixItems`, `anyOf`, `oneOf` and `allOf`; a value of which they say
 * nothing is unknown. Other keywords, such as `minimum`, are checked when a call comes.
 * `Filled`: the defaults have been filled in, so a property that has one is there for certain.
 */
export type FromJsonSchema<S, Filled extends boolean = false> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer One)[] } | { readonly oneOf: readonly (infer One)[] }
      ? OneOf<One, Filled>
      : S extends { readonly allOf: readonly (infer Part)[] }
        ? AllOf<Part, Filled>
        : S extends { readonly type: infer Type }
          ? OfType<Type extends readonly (infer One)[] ? One : Type, S, Filled>
          : S extends { readonly properties: object }
            ? OfType<'object', S, Filled>
            : unknown;

type OneOf<One, Filled extends boolean> = One extends unknown ? FromJsonSchema<One, Filled> : never;

// A union in a position of a function's parameter becomes an intersection.
type AllOf<Part, Filled extends boolean> = (
  Part extends unknown ? (value: FromJsonSchema<Part, Filled>) => void : never
) extends (value: infer All) => void
  ? All
  : never;

// Distributes over a list of types.
type OfType<Type, S, Filled extends boolean> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? ListOf<S, Filled>
          : Type extends 'object'
            ? ObjectOf<S, Filled>
            : unknown;

type ListOf<S, Filled extends boolean> = S extends { readonly prefixItems: infer Items extends readonly unknown[] }
  ? { readonly [Index in keyof Items]: FromJsonSchema<Items[Index], Filled> }
  : S extends { readonly items: infer Item }
    ? readonly FromJsonSchema<Item, Filled>[]
    : readonly unknown[];

type ObjectOf<S, Filled extends boolean> = S extends { readonly properties: infer Properties }
  ? Flat<MembersOf<Properties, Given<S, Properties, Filled>, Filled>>
  : S extends { readonly additionalProperties: infer Values extends object }
    ? { readonly [name: string]: FromJsonSchema<Values, Filled> }
    : { readonly [name: string]: unknown };

/** The names of the properties that an object has for certain. */
type Given<S, Properties, Filled> =
  | (S extends { readonly required: readonly (infer Name)[] } ? Name : never)
  | (Filled extends true
      ? { [Name in keyof Properties]: Properties[Name] extends { default: unknown } ? Name : never }[keyof Properties]
      : never);

type MembersOf<Properties, Certain, Filled extends boolean> = {
  readonly [Name in keyof Properties as Name extends Certain ? Name : never]: FromJsonSchema<Properties[Name], Filled>;
} & {
  readonly [Name in keyof Properties as Name extends Certain ? never : Name]?: FromJsonSchema<Properties[Name], Filled>;
};

// One object type instead of an intersection, for the tooltips of editors.
type Flat<Members> = { readonly [Name in keyof Members]: Members[Name] };
