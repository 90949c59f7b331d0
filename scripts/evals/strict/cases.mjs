// Test cases of grammar-constrained decoding: tools and JSON Schemas that cover everything a grammar can express, with names
// and values that share prefixes.

const text = (rest = {}) => ({ type: 'string', ...rest });
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });

/**
 * Tool declarations: as lists of parameters, and as JSON Schemas.
 * @type {readonly object[]}
 */
export const tools = [
  {
    name: 'set_light',
    description: 'Turn a light on or off.',
    parameters: [
      { name: 'name', type: 'string', description: 'Which light.' },
      { name: 'on', type: 'boolean' },
    ],
  },
  {
    name: 'set_light_level',
    description: 'Dim a light.',
    parameters: object(
      {
        light: text({ enum: ['porch', 'por"ch', 'hall', 'hallway'] }),
        level: { type: 'integer', minimum: 0, maximum: 100 },
      },
      ['level'],
    ),
  },
  { name: 'list-lights', description: 'List all lights.', parameters: [] },
  {
    name: 'give_item',
    description: 'Hand something over.',
    parameters: object(
      {
        items: {
          type: 'array',
          items: object({ id: text({ maxLength: 8 }), count: { type: 'integer' } }, ['id']),
          minItems: 1,
          maxItems: 3,
        },
        to: {
          anyOf: [text({ maxLength: 12 }), { type: 'null' }, object({ x: { type: 'number' }, y: { type: 'number' } })],
        },
        note: text(),
      },
      ['items', 'to'],
    ),
  },
  {
    name: 'Plan.meeting',
    description: 'Plan a meeting.',
    parameters: object(
      {
        day: text({ format: 'date' }),
        'Zürich/東京': { const: { a: [1, null] } },
        price: { type: 'number', minimum: 0 },
      },
      ['day'],
    ),
  },
  {
    name: 'plan_trip',
    description: 'Plan a trip.',
    parameters: object(
      {
        Zürich: { const: { a: [1, null] } },
        day: text({ format: 'date' }),
        via: { type: 'array', items: text(), maxItems: 2 },
      },
      ['day'],
    ),
  },
];

/**
 * The tools with a largest length of each string: a random model never writes the mark that ends a raw string.
 * @type {readonly object[]}
 */
export const boundedTools = tools.map((tool) => ({ ...tool, parameters: bounded(schemaOf(tool.parameters)) }));

/**
 * JSON Schemas of answers.
 * @type {readonly object[]}
 */
export const schemas = [
  object({ mood: { enum: ['happy', 'sad'] }, text: text({ maxLength: 20 }) }),
  { type: 'array', items: { type: 'integer', minimum: -20, maximum: 300 }, minItems: 2, maxItems: 5 },
  text({ minLength: 3, maxLength: 9 }),
  { type: 'integer' },
  { type: ['number', 'null'] },
  object({ when: text({ format: 'date-time' }), id: text({ format: 'uuid' }), mail: text({ format: 'email' }) }, [
    'when',
  ]),
  object(
    {
      a: object({ b: object({ c: { type: 'boolean' } }) }),
      list: { type: 'array', items: { enum: [1, 'two', null, [3]] }, maxItems: 4 },
    },
    [],
  ),
  {
    oneOf: [
      object({ kind: { const: 'a' }, a: { type: 'integer' } }),
      object({ kind: { const: 'b' }, b: text({ maxLength: 5 }) }),
    ],
  },
  { anyOf: [{ const: 'yes' }, { const: 'yesterday' }, { type: 'integer', maximum: -5 }] },
  { type: 'array', items: {}, maxItems: 3 },
];

function schemaOf(parameters) {
  if (!Array.isArray(parameters)) return parameters;
  return object(Object.fromEntries(parameters.map(({ name, ...schema }) => [name, schema])));
}

function bounded(schema) {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(bounded);
  const isFree = schema.type === 'string' && !('enum' in schema || 'format' in schema);
  const inner = Object.entries(schema).map(([key, value]) => [key, key === 'const' ? value : bounded(value)]);
  return { ...(isFree && { maxLength: 16 }), ...Object.fromEntries(inner) };
}

/**
 * Items of a game, some of which begin alike or need an escape.
 * @type {readonly string[]}
 */
export const inventory = ['rope', 'ropes', 'rope ladder', 'lamp', 'a "crown"', 'b\\c', 'Schlüssel', '鍵', '🔦', 'ro'];

/**
 * Declarations of tools whose values are those of the inventory.
 * @type {readonly object[]}
 */
export const inventoryTools = [
  {
    name: 'give',
    description: 'Give an item.',
    parameters: [{ name: 'item', type: 'string', enum_from: 'inventory' }],
  },
  {
    name: 'trade',
    description: 'Trade items.',
    parameters: object({
      items: {
        type: 'array',
        items: object({ item: text({ enum_from: 'inventory' }) }),
        minItems: 1,
        maxItems: 3,
      },
    }),
  },
];
