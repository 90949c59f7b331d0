// Weights as ggml stores them, and seeded random numbers to make them of.
import { createRandom } from '../seededRandom.mjs';

/** Weight types: the number ggml has for each, and the bytes of so many weights. */
export const weightTypes = {
  F32: { id: 0, fileType: 0, weights: 1, bytes: 4 },
  F16: { id: 1, fileType: 1, weights: 1, bytes: 2 },
  Q8_0: { id: 8, fileType: 7, weights: 32, bytes: 34 },
};

/** The bytes that a number of weights takes. */
export const weightBytes = (type, count) => (count / weightTypes[type].weights) * weightTypes[type].bytes;

/** Weights as bytes: `count` of them, a multiple of 32 for Q8_0, drawn with a standard deviation of `spread`. */
export function createWeights(type, count, draw, spread) {
  const buffer = Buffer.alloc(weightBytes(type, count));
  if (type === 'Q8_0') return quantize(buffer, draw, spread);
  for (let index = 0; index < count; index++) {
    if (type === 'F32') buffer.writeFloatLE(spread * draw(), index * 4);
    else buffer.writeUInt16LE(toHalfPrecision(spread * draw()), index * 2);
  }
  return buffer;
}

// A block: a scale in half precision and 32 whole numbers; these reach four standard deviations.
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

/** The bits of a small number in half precision, cut off and not rounded: weights are random anyway. */
function toHalfPrecision(value) {
  single.setFloat32(0, value);
  const bits = single.getUint32(0);
  const exponent = ((bits >>> 23) & 0xff) - 127 + 15;
  if (exponent >= 31) throw new RangeError(`${value} is too large for F16`);
  const sign = (bits >>> 16) & 0x8000;
  return exponent <= 0 ? sign : sign | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}

/** Draws normally distributed numbers around 0 with a standard deviation of 1: the same ones for the same seed. */
export function createNormalRandom(seed) {
  const uniform = createRandom(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}
