// Fuzzes the frame codecs, in both directions and both encodings: random bytes, truncated frames, changed bytes and values.
// Decoding must return a frame that encodes and decodes to itself, or a Fault with code 5001 or 5002.
import { below, pick, createRandom } from '../seededRandom.mjs';

export const name = 'frames';

/**
 * Fuzzes the built codecs.
 * @param {{ count: number, seed: number, log?: (line: string) => void }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export async function fuzz({ count, seed, log = () => {} }) {
  const { serverCodecs, clientCodecs } = await import('../../dist/protocol/codec/codec.js');
  const { shapes } = await import('../../dist/protocol/frames.gen.js');
  const { frames, faults } = fuzzTarget({ serverCodecs, clientCodecs, shapes }, { count, seed });
  log(`${count} inputs: ${frames} were frames, ${faults} were refused`);
}

/**
 * Decodes `count` mutated frames and counts the outcomes.
 * @param {{
 *   serverCodecs: Partial<typeof import('../../src/protocol/codec/codec.ts').serverCodecs>,
 *   clientCodecs: Partial<typeof import('../../src/protocol/codec/codec.ts').clientCodecs>,
 *   shapes: typeof import('../../src/protocol/frames.gen.ts').shapes,
 * }} target
 * @param {{ count: number, seed: number }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export function fuzzTarget({ serverCodecs, clientCodecs, shapes }, { count, seed }) {
  const random = createRandom(seed);
  const tally = { frames: 0, faults: 0 };
  for (let index = 0; index < count; index++) {
    const subprotocol = pick(random, Object.keys(serverCodecs));
    const [envelope, reader, writer] = pick(random, [
      ['ClientFrame', serverCodecs[subprotocol], clientCodecs[subprotocol]],
      ['ServerFrame', clientCodecs[subprotocol], serverCodecs[subprotocol]],
    ]);
    const input = mutatedFrame(writer.encode(randomFrame(shapes, envelope, random)), random);
    try {
      tally[decodeTwice(reader, writer, input)]++;
    } catch (error) {
      const shown = typeof input === 'string' ? JSON.stringify(input) : Buffer.from(input).toString('hex');
      throw new Error(`input ${index} of seed ${seed}, ${subprotocol} ${envelope}: ${shown}`, { cause: error });
    }
  }
  return tally;
}

function decodeTwice(reader, writer, input) {
  const decoded = reader.decode(input);
  if (!decoded.ok) {
    const { fault } = decoded;
    if (fault.code !== 5001 && fault.code !== 5002) throw fault;
    if (fault.message.length > 1000) throw new Error(`a refusal of ${fault.message.length} characters`);
    return 'faults';
  }
  const once = writer.encode(decoded.frame);
  const again = reader.decode(once);
  if (!again.ok) throw again.fault;
  if (String(writer.encode(again.frame)) !== String(once)) throw new Error('the frame changes when it travels');
  return 'frames';
}

const times = (count, make) => Array.from({ length: count }, make);

/**
 * A frame with a value in every field, of the given body or of a random one.
 * @template {import('../../src/protocol/codec/frame.ts').Envelope} E
 * @param {typeof import('../../src/protocol/frames.gen.ts').shapes} shapes
 * @param {E} envelope
 * @param {() => number} random
 * @param {string} [body]
 * @returns {import('../../src/protocol/codec/frame.ts').Frames[E]}
 */
export function randomFrame(shapes, envelope, random, body) {
  const fields = Object.entries(shapes[envelope]);
  const [name, { message }] = pick(
    random,
    fields.filter(([field, shape]) => shape.oneof && (body === undefined || field === body)),
  );
  const head = fields
    .filter(([, shape]) => !shape.oneof)
    .map(([field, shape]) => [field, randomValue(shapes, shape, random)]);
  return { ...Object.fromEntries(head), body: name, [name]: randomMessage(shapes, message, random) };
}

function randomMessage(shapes, message, random) {
  const fields = Object.entries(shapes[message]);
  const chosen = pick(
    random,
    fields.filter(([, shape]) => shape.oneof).map(([field]) => field),
  );
  return Object.fromEntries(
    fields
      .filter(([field, shape]) => !shape.oneof || field === chosen)
      .map(([field, shape]) => {
        const one = () => randomValue(shapes, shape, random);
        return [field, shape.repeated ? times(1 + below(random, 3), one) : one()];
      }),
  );
}

function randomValue(shapes, shape, random) {
  if (shape.message) return randomMessage(shapes, shape.message, random);
  if (shape.enum) return pick(random, shape.enum);
  if (shape.map) return randomMap(random);
  return scalars[shape.scalar](random);
}

const scalars = {
  string: (random) => pick(random, texts) + pick(random, texts),
  bool: (random) => random() < 0.8,
  uint32: (random) => pick(random, [1, 127, 128, 300, 65_536, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]),
  double: (random) => pick(random, [0.5, -1.25, 1e300, 5e-324, 2 ** 53, random()]),
};

const texts = [
  'a',
  'hello',
  'Grüße, 世界 👋🏽',
  '\0\n\u2028"\\u0041\\',
  '\uFEFF{"x":[1,2]}',
  '\u{10FFFF}',
  'x'.repeat(300),
];

function randomMap(random) {
  const map = Object.create(null);
  for (const key of ['__proto__', 'constructor', pick(random, texts)]) map[key] = pick(random, texts);
  return map;
}

function mutatedFrame(data, random) {
  if (random() < 0.1) return randomBytes(data, random);
  if (typeof data === 'string')
    return random() < 0.7 ? JSON.stringify(mutatedValue(JSON.parse(data), random)) : mutatedText(data, random);
  return random() < 0.2 ? data.slice(0, below(random, data.length + 1)) : mutatedBytes(data, random);
}

function randomBytes(data, random) {
  const bytes = Uint8Array.from(times(below(random, 64), () => below(random, 256)));
  return typeof data === 'string' ? String.fromCharCode(...bytes) : bytes;
}

function mutatedText(text, random) {
  const at = below(random, text.length + 1);
  return (
    text.slice(0, at) +
    pick(random, ['', text.slice(at + 1), pick(random, ['"', '}', ',', '0', '\\ud800']) + text.slice(at)])
  );
}

function mutatedBytes(data, random) {
  const bytes = [...data];
  for (let left = 1 + below(random, 6); left > 0; left--) {
    const at = below(random, bytes.length + 1);
    const run = bytes.slice(at, at + below(random, 12));
    pick(random, [
      () => bytes.splice(at, 1, below(random, 256)),
      () => bytes.splice(at, 1),
      () => bytes.splice(at, 0, below(random, 256)),
      () => bytes.splice(below(random, bytes.length + 1), 0, ...run),
      () => bytes.splice(at, 1, (bytes[at] ?? 0) ^ (1 << below(random, 8))),
    ])();
  }
  return Uint8Array.from(bytes);
}

const wrongValues = [
  null,
  true,
  -1,
  1.5,
  4294967296,
  1e999,
  '',
  'one',
  [],
  [null],
  {},
  { a: 1 },
  [[[[]]]],
  { __proto__: null, constructor: 1 },
];

// Replaces values by others of other types; renames, copies and removes fields.
function mutatedValue(value, random, depth = 0) {
  if (depth > 0 && random() < 0.08) return pick(random, wrongValues);
  if (Array.isArray(value)) return value.map((item) => mutatedValue(item, random, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, item]) => {
    const inner = [key, mutatedValue(item, random, depth + 1)];
    const roll = random();
    if (roll < 0.04) return [];
    if (roll < 0.06) return [[pick(random, ['__proto__', 'toString', 'graph', `${key}x`]), item]];
    return roll < 0.08 ? [inner, [pick(random, ['graph', 'params', 'cancelTurn', 'ack', 'seq']), item]] : [inner];
  });
  return Object.fromEntries(fields);
}
