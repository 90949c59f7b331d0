/** The type names of Python and those of JSON Schema that they mean. Many tool lists are written for Python. */
export const jsonTypeOf: ReadonlyMap<unknown, string> = new Map([
  ['str', 'string'],
  ['int', 'integer'],
  ['float', 'number'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['dict', 'object'],
]);
