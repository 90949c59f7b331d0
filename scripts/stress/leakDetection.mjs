// Leak detection: linear regression over samples of memory or handles, to tell a steady rise from noise.

/**
 * @typedef {object} Sample
 * @property {number} seconds
 * @property {number} value
 */

/**
 * @typedef {object} Trend
 * @property {boolean} enough Whether there were enough samples to judge.
 * @property {boolean} rising
 * @property {number} samples
 * @property {{ slope: number, low: number, high: number }} [perHour] With its 95 % confidence interval.
 * @property {number} [middle] Median of the middle third.
 * @property {number} [last] Median of the last third.
 * @property {number} [growth] Their difference.
 * @property {number} [noise]
 */

/**
 * The trend of samples in order of time. The first third of the run is warm-up. The value is rising only if both hold for
 * the rest: the slope through the medians of blocks is above 0 with 95 % confidence, and the median of the last third
 * exceeds that of the middle third by more than the noise. Either one alone happens by chance.
 * @param {readonly Sample[]} samples
 * @returns {Trend}
 */
export function trendOf(samples) {
  const [, middle, last] = thirds(samples);
  const judged = [...middle, ...last];
  if (judged.length < 2 * minBlocks) return { enough: false, rising: false, samples: samples.length };
  const { slope, margin } = slopeOf(blockMedians(judged));
  const before = median(values(middle));
  const growth = median(values(last)) - before;
  const noise = Math.max(before * minRelativeGrowth, noiseAround(judged, slope));
  const [low, high] = [slope - margin, slope + margin];
  return {
    enough: true,
    rising: low > 0 && growth > noise,
    samples: samples.length,
    perHour: { slope: slope * 3600, low: low * 3600, high: high * 3600 },
    middle: before,
    last: before + growth,
    growth,
    noise,
  };
}

const minBlocks = 5;
const maxBlocks = 16;
// Growth below this share of the value is ignored, however regular it is.
const minRelativeGrowth = 0.01;

function thirds(samples) {
  const [first, final] = [samples.at(0)?.seconds ?? 0, samples.at(-1)?.seconds ?? 0];
  const third = (final - first) / 3 || 1;
  const parts = [[], [], []];
  for (const sample of samples) parts[Math.min(2, Math.floor((sample.seconds - first) / third))].push(sample);
  return parts;
}

// Medians of blocks remove the sawtooth of a garbage collector, and make neighbouring samples count once.
function blockMedians(samples) {
  const count = Math.max(minBlocks, Math.min(maxBlocks, Math.floor(samples.length / 4)));
  return Array.from({ length: count }, (_, index) => {
    const block = samples.slice((index * samples.length) / count, ((index + 1) * samples.length) / count);
    return { seconds: median(block.map(({ seconds }) => seconds)), value: median(values(block)) };
  });
}

/** Least squares; `margin` is half the 95 % confidence interval, widened for autocorrelated residuals. */
function slopeOf(points) {
  const [meanX, meanY] = [mean(points.map(({ seconds }) => seconds)), mean(values(points))];
  const squares = sum(points.map(({ seconds }) => (seconds - meanX) ** 2));
  const slope = sum(points.map(({ seconds, value }) => (seconds - meanX) * (value - meanY))) / squares;
  const residuals = points.map(({ seconds, value }) => value - meanY - slope * (seconds - meanX));
  const error = Math.sqrt(sum(residuals.map((one) => one ** 2)) / (points.length - 2) / squares);
  const alike = Math.min(0.8, Math.max(0, autocorrelation(residuals)));
  return { slope, margin: studentT(points.length - 2) * error * Math.sqrt((1 + alike) / (1 - alike)) };
}

function autocorrelation(residuals) {
  const all = sum(residuals.map((one) => one ** 2));
  return all === 0 ? 0 : sum(residuals.slice(1).map((one, index) => one * residuals[index])) / all;
}

// Quantile of Student's t distribution: two-sided, 95 %, to a hundredth.
const studentT = (freedom) => 1.96 + 2.4 / freedom + 3.2 / freedom ** 2 + 3.3 / freedom ** 4;

/** Twice the standard deviation around a line of this slope, estimated from the median absolute deviation. */
function noiseAround(samples, slope) {
  const level = samples.map(({ seconds, value }) => value - slope * seconds);
  const centre = median(level);
  return 2 * 1.4826 * median(level.map((one) => Math.abs(one - centre)));
}

const values = (samples) => samples.map(({ value }) => value);
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

/**
 * The median; of an even count, the mean of the two in the middle.
 * @param {readonly number[]} numbers
 * @returns {number}
 */
export function median(numbers) {
  return quantile(numbers, 0.5);
}

/**
 * A quantile, interpolated linearly between neighbours; NaN for an empty list.
 * @param {readonly number[]} numbers
 * @param {number} share From 0 to 1.
 * @returns {number}
 */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)] ?? NaN, sorted[Math.ceil(place)] ?? NaN];
  return below + (above - below) * (place - Math.floor(place));
}
