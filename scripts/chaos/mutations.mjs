// Mutates GGUF files: replaces metadata values, entries of the tensor table, or tensor data, drawn from a seed.
/** @import { Rng } from '../seededRandom.mjs' */

/**
 * Where a file has what.
 * @typedef {object} Layout
 * @property {readonly { key: string, kind: number, at: number }[]} values Metadata that are numbers, and where they are.
 * @property {readonly { tensor: string, field: string, at: number, bytes: number }[]} entries Numbers of the tensor table.
 * @property {number} tableAt Offset of the tensor table.
 * @property {number} dataAt Offset of the first byte after it.
 */

// GGUF value types by number: bytes of each scalar; 8 is a text, 9 a list.
const scalarBytes = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];
const [textKind, listKind, floatKinds] = [8, 9, [6, 12]];

/** Finds the numbers in the header of a GGUF file. @returns {Layout} */
export function layoutOf(/** @type {Buffer} */ file) {
  let at = 8;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const text = () => {
    const bytes = u64();
    at += bytes;
    return file.toString('utf8', at - bytes, at);
  };
  const skip = (/** @type {number} */ kind) => {
    if (kind === textKind) return void text();
    if (kind !== listKind) return void (at += scalarBytes[kind] ?? 0);
    const [entryKind, count] = [u32(), u64()];
    for (let index = 0; index < count; index++) skip(entryKind);
  };
  const [tensorCount, valueCount] = [u64(), u64()];
  const values = [];
  for (let index = 0; index < valueCount; index++) {
    const [key, kind] = [text(), u32()];
    if (scalarBytes[kind] !== undefined) values.push({ key, kind, at });
    skip(kind);
  }
  const tableAt = at;
  const entries = [];
  for (let index = 0; index < tensorCount; index++) {
    const tensor = text();
    entries.push({ tensor, field: 'rank', at, bytes: 4 });
    for (let rank = u32(); rank > 0; rank--) {
      entries.push({ tensor, field: 'dimension', at, bytes: 8 });
      at += 8;
    }
    entries.push({ tensor, field: 'type', at, bytes: 4 }, { tensor, field: 'offset', at: at + 4, bytes: 8 });
    at += 12;
  }
  return { values, entries, tableAt, dataAt: at };
}

const wholeNumbers = [0, 1, 2, 3, 7, 31, 64, 255, 1000, 65_536, 0x7fff_ffff, 0xffff_ffff];
const fractions = [0, -1, 1e-30, 1e30, NaN, Infinity, -Infinity];

/**
 * The kinds of mutations. Each changes a copy of the file and says what it did.
 * @type {Readonly<Record<string, (copy: Buffer, layout: Layout, rng: Rng) => string>>}
 */
const mutations = {
  metadata(copy, { values }, rng) {
    const { key, kind, at } = rng.pick(values);
    const value = floatKinds.includes(kind) ? rng.pick(fractions) : rng.pick(wholeNumbers);
    if (floatKinds.includes(kind)) writeFraction(copy, at, scalarBytes[kind] ?? 4, value);
    else writeWhole(copy, at, scalarBytes[kind] ?? 4, value);
    return `${key} = ${value}`;
  },
  'metadata bytes': (copy, { tableAt }, rng) => flipBytes(copy, 4, tableAt, rng),
  'tensor table'(copy, { entries }, rng) {
    const { tensor, field, at, bytes } = rng.pick(entries);
    const value = field === 'type' ? rng.below(42) : rng.pick(wholeNumbers);
    writeWhole(copy, at, bytes, value);
    return `${field} of ${tensor} = ${value}`;
  },
  'tensor table bytes': (copy, { tableAt, dataAt }, rng) => flipBytes(copy, tableAt, dataAt, rng),
  data(copy, { dataAt }, rng) {
    const start = dataAt + rng.below(copy.length - dataAt);
    const end = Math.min(copy.length, start + 1 + rng.below(100_000));
    const fill = rng.pick([0x00, 0x7f, 0x80, 0xff, undefined]);
    for (let at = start; at < end; at++) copy[at] = fill ?? rng.below(256);
    return `bytes ${start} to ${end} are ${fill ?? 'random'}`;
  },
};

function writeWhole(copy, at, bytes, value) {
  if (bytes === 8) return copy.writeBigUInt64LE(BigInt(value), at);
  return copy.writeUIntLE(value % 2 ** (8 * bytes), at, bytes);
}

function writeFraction(copy, at, bytes, value) {
  if (bytes === 8) return copy.writeDoubleLE(value, at);
  return copy.writeFloatLE(value, at);
}

function flipBytes(copy, start, end, rng) {
  const offsets = Array.from({ length: 1 + rng.below(4) }, () => start + rng.below(end - start));
  for (const at of offsets) copy[at] ^= 1 << rng.below(8);
  return `other bits at ${offsets.join(', ')}`;
}

/**
 * A copy of a file with one to three mutations of one kind. Now and then its end is missing too.
 * @param {Buffer} file
 * @param {Layout} layout
 * @param {Rng} rng
 */
export function mutate(file, layout, rng) {
  const copy = Buffer.from(file);
  const kind = rng.pick(Object.keys(mutations));
  const what = Array.from({ length: 1 + rng.below(3) }, () => mutations[kind]?.(copy, layout, rng)).join('; ');
  const end = rng.oneIn(15) ? rng.below(copy.length) : copy.length;
  return { kind, what: end < copy.length ? `${what}, cut after ${end} bytes` : what, content: copy.subarray(0, end) };
}
