/** A JSON Schema (draft-07) as a value: the subset that parameters and options are declared in. */
export interface Schema {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number | boolean)[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly maxProperties?: number;
  readonly propertyNames?: { readonly minLength?: number; readonly maxLength?: number };
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Whether clients can change this parameter of a node between turns (ChangeParamsRequest). */
  readonly live?: boolean;
  /** What a form edits a string with: several lines, or a list of the models. */
  readonly editor?: 'multiline' | 'model';
}

/** A schema of an object with named properties. */
export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: { readonly [name: string]: Schema };
}

/** The TypeScript type of the values that a schema accepts, after its defaults have been filled in. */
export type FromSchema<S extends Schema> = S extends { anyOf: readonly (infer One extends Schema)[] }
  ? One extends Schema
    ? FromSchema<One>
    : never
  : S extends { enum: readonly (infer Value)[] }
    ? Value
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'array'; items: infer Items extends Schema }
            ? readonly FromSchema<Items>[]
            : S extends { type: 'object'; properties: infer Properties extends { readonly [name: string]: Schema } }
              ? FromProperties<Properties, S extends { required: readonly (infer Name)[] } ? Name : never>
              : S extends { type: 'object'; additionalProperties: infer Values extends Schema }
                ? { readonly [name: string]: FromSchema<Values> }
                : S extends { type: 'object' }
                  ? { readonly [name: string]: unknown }
                  : unknown;

type FromProperties<Properties extends { readonly [name: string]: Schema }, Required> = {
  readonly [
    Name in keyof Properties as Name extends Required
      ? Name
      : Properties[Name] extends { default: unknown }
        ? Name
        : never
  ]: FromSchema<Properties[Name]>;
} & {
  readonly [
    Name in keyof Properties as Name extends Required
      ? never
      : Properties[Name] extends { default: unknown }
        ? never
        : Name
  ]?: FromSchema<Properties[Name]>;
};
