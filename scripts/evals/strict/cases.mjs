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
];

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
