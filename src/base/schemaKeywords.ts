/** The keywords of JSON Schema that hold alternatives for the same value. */
export const branchKeywords: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/** The keywords that hold a list of schemas for other values; `items` may also hold one schema. */
export const listKeywords: ReadonlySet<string> = new Set(['prefixItems', 'items']);

/** The keywords that hold schemas by name, in addition to `properties`. */
export const namedKeywords: ReadonlySet<string> = new Set([
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);

/** The keywords that hold one schema, in addition to `items`. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
]);

/** The facts of a parameter that are no keywords of JSON Schema: only turngraph knows them. */
export const ownFacts = ['source', 'significance', 'hidden', 'precedence', 'enum_from'] as const;
