// Frames of both directions in both encodings: random bytes, truncated frames, frames with bytes or values changed.
// Decoding must give a frame that encodes and decodes to itself, or a Fault that blames the frame.
import { below, pick, randomFrom } from '../seededRandom.mjs';

export const name = 'frames';

/** Runs over the built codecs; throws at the first frame that breaks the promise. */
export async function fuzz({ count, seed, log = () => {} }) {
  const { serverCodecs, clientCodecs } = await import('../../dist/wire/codec.js');
  const { shapes } = await import('../../dist/frames.gen.js');
  const { frames, faults } = hammer({ serverCodecs, clientCodecs, shapes }, { count, seed });
  log(`${count} inputs: ${frames} were frames, ${faults} were refused`);
}

/** Decodes `count` hostile inputs and counts what came of them. */
export function hammer({ serverCodecs, clientCodecs, shapes }, { count, seed }) {
  const random = randomFrom(seed);
  const tally = { frames: 0, faults: 0 };
  for (let index = 0; index < count; index++) {
    const subprotocol = pick(random, Object.keys(serverCodecs));
    const [envelope, reader, writer] = pick(random, [
      ['ClientFrame', serverCodecs[subprotocol], clientCodecs[subprotocol]],
      ['ServerFrame', clientCodecs[subprotocol], serverCodecs[subprotocol]],
    ]);
    const input = hostile(writer.encode(randomFrame(shapes, envelope, random)), random);
    try {
      tally[outcome(reader, writer, input)]++;
    } catch (error) {
      const shown = typeof input === 'string' ? JSON.stringify(input) : Buffer.from(input).toString('hex');
      throw new Error(`input ${index} of seed ${seed}, ${subprotocol} ${envelope}: ${shown}`, { cause: error });
    }
  }
  return tally;
}

function outcome(reader, writer, input) {
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

/** A frame with a value in every field; of the body named, or of any. */
export function randomFrame(shapes, envelope, random, body) {
  const fields = Object.entries(shapes[envelope]);
  const [name, { message }] = pick(
    random,
    fields.filter(([field, shape]) => shape.oneof && (body === undefined || field === body)),
  );
  const head = fields
    .filter(([, shape]) => !shape.oneof)
    .map(([field, shape]) => [field, single(shapes, shape, random)]);
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
        const one = () => single(shapes, shape, random);
        return [field, shape.repeated ? times(1 + below(random, 3), one) : one()];
      }),
  );
}

function single(shapes, shape, random) {
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

function hostile(data, random) {
  if (random() < 0.1) return noise(data, random);
  if (typeof data === 'string')
    return random() < 0.7 ? JSON.stringify(spoilt(JSON.parse(data), random)) : cut(data, random);
  return random() < 0.2 ? data.slice(0, below(random, data.length + 1)) : spoiltBytes(data, random);
}

function noise(data, random) {
  const bytes = Uint8Array.from(times(below(random, 64), () => below(random, 256)));
  return typeof data === 'string' ? String.fromCharCode(...bytes) : bytes;
}

function cut(text, random) {
  const at = below(random, text.length + 1);
  return (
    text.slice(0, at) +
    pick(random, ['', text.slice(at + 1), pick(random, ['"', '}', ',', '0', '\\ud800']) + text.slice(at)])
  );
}

function spoiltBytes(data, random) {
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

const strays = [
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

// Some values replaced by ones of other types, some fields renamed, doubled under another name, or left out.
function spoilt(value, random, depth = 0) {
  if (depth > 0 && random() < 0.08) return pick(random, strays);
  if (Array.isArray(value)) return value.map((item) => spoilt(item, random, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, item]) => {
    const inner = [key, spoilt(item, random, depth + 1)];
    const roll = random();
    if (roll < 0.04) return [];
    if (roll < 0.06) return [[pick(random, ['__proto__', 'toString', 'graph', `${key}x`]), item]];
    return roll < 0.08 ? [inner, [pick(random, ['graph', 'params', 'cancelTurn', 'ack', 'seq']), item]] : [inner];
  });
  return Object.fromEntries(fields);
}
