// Hostile JSON Schemas: each is large in one way, or a random tree of all ways.
import { below, pick } from '../../seededRandom.mjs';
import { hostileText, sizeUpTo, times } from './texts.mjs';

const leaves = [
  () => ({ type: 'string' }),
  () => ({ type: 'integer' }),
  () => ({ type: 'boolean' }),
  () => ({ type: 'number', minimum: -1000, maximum: 1000 }),
  () => ({}),
  (random) => ({ type: 'integer', minimum: -below(random, 2 ** 31), maximum: below(random, 2 ** 31) }),
  (random) => ({ type: 'string', minLength: below(random, 256), maxLength: 256 }),
  (random) => ({ type: 'string', format: pick(random, ['date', 'date-time', 'uuid', 'email', 'time', 'nothing']) }),
  (random) => ({ type: 'string', pattern: hostileText(random, 50) }),
  () => ({ enum: ['a', 'b'] }),
];

const leaf = (random) => pick(random, leaves)(random);

const named = (count, create, prefix = 'p') => Object.fromEntries(times(count, (i) => [`${prefix}${i}`, create(i)]));

/** Values that share a beginning, an end, or nothing. */
function values(random, count) {
  const shared = hostileText(random, sizeUpTo(random, 40));
  return pick(random, [
    () => times(count, (i) => `value ${i}`),
    () => times(count, (i) => `${shared}${i}`),
    () => times(count, (i) => `${i}${shared}`),
    () => times(count, (i) => i),
    () => times(count, (i) => i * 1.5),
    () => times(count, (i) => ({ a: i })),
    () => times(count, (i) => [i, [i]]),
    () => times(count, (i) => 'a'.repeat(i % 500)),
  ])();
}

/** Each takes a random source and about how many bytes the schema may have. */
const shapes = {
  optionalProperties: (random, bytes) => ({
    type: 'object',
    properties: named(count(random, bytes, 25), () => leaf(random)),
    additionalProperties: false,
  }),
  someRequiredProperties(random, bytes) {
    const properties = named(count(random, bytes, 35), () => leaf(random));
    return { type: 'object', properties, required: Object.keys(properties).filter(() => random() < 0.5) };
  },
  longNames: (random, bytes) => ({
    type: 'object',
    properties: named(3, () => leaf(random), hostileText(random, bytes / 3)),
  }),
  enum: (random, bytes) => ({ enum: values(random, count(random, bytes, 12)) }),
  const: (random, bytes) => ({ const: hostileText(random, bytes) }),
  oneOfConstants: (random, bytes) => ({
    oneOf: values(random, count(random, bytes, 25)).map((value) => ({ const: value })),
  }),
  oneOfObjects: (random, bytes) => ({
    oneOf: times(count(random, bytes, 90), (i) => ({
      type: 'object',
      properties: { kind: { const: `kind ${i}` }, value: leaf(random) },
      required: ['kind'],
    })),
  }),
  anyOf: (random, bytes) => ({ anyOf: times(count(random, bytes, 20), () => leaf(random)) }),
  anyOfObjects: (random, bytes) => ({
    anyOf: times(count(random, bytes, 60), (i) => ({
      type: 'object',
      properties: { shared: { type: 'string' }, [`p${i}`]: leaf(random) },
    })),
  }),
  nestedLists: (random) => nest(random, 1 + below(random, 40), (items) => ({ type: 'array', items, maxItems: 256 })),
  nestedFullLists: (random) => nest(random, 1 + below(random, 6), (items) => ({ type: 'array', items, minItems: 256 })),
  nestedObjects: (random) =>
    nest(random, 1 + below(random, 40), (a) => ({ type: 'object', properties: { a, b: leaf(random) } })),
  nestedChoices: (random) =>
    nest(random, 1 + below(random, 14), (item) => ({ anyOf: [item, { type: 'null' }, leaf(random)] })),
  doubledChoices: (random) =>
    nest(random, 1 + below(random, 12), (item) => ({ anyOf: [item, { type: 'array', items: item }] })),
  longStrings: (random, bytes) => ({
    type: 'object',
    properties: named(count(random, bytes, 60), () => ({ type: 'string', minLength: 200, maxLength: 256 })),
  }),
  unknownKeywords: (random, bytes) => ({ type: 'string', ...named(count(random, bytes, 12), () => 1, 'minLengt') }),
  types: (random, bytes) => ({
    type: times(count(random, bytes, 10), () => pick(random, ['string', 'null', 'object'])),
  }),
  required: (random, bytes) => ({ type: 'object', properties: {}, required: values(random, count(random, bytes, 12)) }),
};

const count = (random, bytes, each) => sizeUpTo(random, Math.max(1, Math.floor(bytes / each)));

function nest(random, depth, wrap) {
  let schema = leaf(random);
  for (let left = depth; left > 0; left--) schema = wrap(schema);
  return schema;
}

/** A schema of at most about `bytes` bytes. */
export function hostileSchema(random, bytes) {
  if (random() < 0.75) return pick(random, Object.values(shapes))(random, bytes);
  const children = 1 + below(random, 6);
  const child = () => hostileSchema(random, bytes / children / 2);
  return pick(random, [
    () => ({ type: 'object', properties: named(children, child) }),
    () => ({ type: 'array', items: child() }),
    () => ({ anyOf: times(children, child) }),
    () => ({ oneOf: times(children, child) }),
  ])();
}
