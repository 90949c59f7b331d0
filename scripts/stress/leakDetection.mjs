// Whether a figure that was sampled over a run still rises, or only wavers.

/**
 * Judges samples `{ seconds, value }`, in their order. The first third of the run is warm-up. Of the rest two things are
 * asked: the slope through the medians of blocks, with its 95 % interval, and by how much the median of the last third
 * lies above that of the middle one. Only what says yes to both is rising; either alone is noise.
 */
export function trendOf(samples) {
  const [, middle, last] = thirds(samples);
  const judged = [...middle, ...last];
  if (judged.length < 2 * leastBlocks) return { enough: false, rising: false, samples: samples.length };
  const { slope, margin } = slopeOf(blocksOf(judged));
  const before = median(values(middle));
  const growth = median(values(last)) - before;
  const noise = Math.max(before * smallShare, spreadAlong(judged, slope));
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

const leastBlocks = 5;
const mostBlocks = 16;
// Less than this is nothing that anybody would notice, however regular it is.
const smallShare = 0.01;

function thirds(samples) {
  const [first, final] = [samples.at(0)?.seconds ?? 0, samples.at(-1)?.seconds ?? 0];
  const third = (final - first) / 3 || 1;
  const parts = [[], [], []];
  for (const sample of samples) parts[Math.min(2, Math.floor((sample.seconds - first) / third))].push(sample);
  return parts;
}

// A median takes the teeth off the saw that a garbage collector draws, and neighbours that resemble each other count once.
function blocksOf(samples) {
  const count = Math.max(leastBlocks, Math.min(mostBlocks, Math.floor(samples.length / 4)));
  return Array.from({ length: count }, (_, index) => {
    const block = samples.slice((index * samples.length) / count, ((index + 1) * samples.length) / count);
    return { seconds: median(block.map(({ seconds }) => seconds)), value: median(values(block)) };
  });
}

/** Least squares; the margin is that of 95 %, widened where neighbouring residuals resemble each other. */
function slopeOf(points) {
  const [meanX, meanY] = [mean(points.map(({ seconds }) => seconds)), mean(values(points))];
  const squares = sum(points.map(({ seconds }) => (seconds - meanX) ** 2));
  const slope = sum(points.map(({ seconds, value }) => (seconds - meanX) * (value - meanY))) / squares;
  const residuals = points.map(({ seconds, value }) => value - meanY - slope * (seconds - meanX));
  const error = Math.sqrt(sum(residuals.map((one) => one ** 2)) / (points.length - 2) / squares);
  const alike = Math.min(0.8, Math.max(0, likeness(residuals)));
  return { slope, margin: studentOf(points.length - 2) * error * Math.sqrt((1 + alike) / (1 - alike)) };
}

function likeness(residuals) {
  const all = sum(residuals.map((one) => one ** 2));
  return all === 0 ? 0 : sum(residuals.slice(1).map((one, index) => one * residuals[index])) / all;
}

// Two-sided, 95 %, to a hundredth.
const studentOf = (freedom) => 1.96 + 2.4 / freedom + 3.2 / freedom ** 2 + 3.3 / freedom ** 4;

/** How far samples lie from a line of this slope: twice the spread that their median deviation stands for. */
function spreadAlong(samples, slope) {
  const level = samples.map(({ seconds, value }) => value - slope * seconds);
  const centre = median(level);
  return 2 * 1.4826 * median(level.map((one) => Math.abs(one - centre)));
}

const values = (samples) => samples.map(({ value }) => value);
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

/** The middle one of some numbers; of an even count, the mean of the two in the middle. */
export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** The number below which a share of the numbers lies, between neighbours in proportion. */
export function quantile(numbers, share) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)] ?? NaN, sorted[Math.ceil(place)] ?? NaN];
  return below + (above - below) * (place - Math.floor(place));
}
