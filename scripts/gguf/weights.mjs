// Model weights in ggml's formats F32, F16 and Q8_0, from seeded random numbers.
import { createRandom } from '../seededRandom.mjs';

/** Weight types: ggml's ids, and the bytes of a block of weights. */
export const weightTypes = {
  F32: { id: 0, fileType: 0, weights: 1, bytes: 4 },
  F16: { id: 1, fileType: 1, weights: 1, bytes: 2 },
  Q8_0: { id: 8, fileType: 7, weights: 32, bytes: 34 },
};

/** The size of `count` weights in bytes. */
export const weightBytes = (type, count) => (count / weightTypes[type].weights) * weightTypes[type].bytes;

/** Creates `count` weights as bytes, with a standard deviation of `spread`; Q8_0 needs a multiple of 32. */
export function createWeights(type, count, draw, spread) {
  const buffer = Buffer.alloc(weightBytes(type, count));
  if (type === 'Q8_0') return quantize(buffer, draw, spread);
  for (let index = 0; index < count; index++) {
    if (type === 'F32') buffer.writeFloatLE(spread * draw(), index * 4);
    else buffer.writeUInt16LE(toHalfPrecision(spread * draw()), index * 2);
  }
  return buffer;
}

// A Q8_0 block: a scale in half precision and 32 signed bytes; the values are clipped at four standard deviations.
function quantize(buffer, draw, spread) {
  const scale = toHalfPrecision((4 * spread) / 127);
  for (let block = 0; block < buffer.length; block += 34) {
    buffer.writeUInt16LE(scale, block);
    for (let at = 2; at < 34; at++) {
      buffer.writeInt8(Math.max(-127, Math.min(127, Math.round((draw() * 127) / 4))), block + at);
    }
  }
  return buffer;
}

const single = new DataView(new ArrayBuffer(4));

/** The bits of a number in half precision, truncated, not rounded: the weights are random anyway. */
function toHalfPrecision(value) {
  single.setFloat32(0, value);
  const bits = single.getUint32(0);
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent >= 31) throw new RangeError(`${value} is too large for F16`);
  const sign = (bits >>> 16) & 0x8000;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

/** Creates a generator of normally distributed numbers (mean 0, standard deviation 1; Box-Muller). */
export function createNormalRandom(seed) {
  const uniform = createRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
