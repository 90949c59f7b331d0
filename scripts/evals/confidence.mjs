// How well the confidence of calls tells right ones from wrong ones.
// node scripts/evals/confidence.mjs FILE...   draws the share of right calls by their confidence, as SVG to standard output; each
//                                             file is what an evaluation prints with --json
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

/** Confidences of turns with calls: of each turn the lowest, and whether its calls are right. */
export class Confidences {
  /** @type {[confidence: number, isRight: boolean][]} */
  pairs = [];

  /** Adds a turn, unless it has no call of which the confidence is known. */
  add(calls, isRight) {
    const known = calls.flatMap(({ confidence }) => confidence ?? []);
    if (known.length > 0) this.pairs.push([Math.min(...known), isRight]);
  }
}

/** The probability that a right turn has a higher confidence than a wrong one (area under the ROC curve); null without both. */
export function areaUnderCurve(pairs) {
  const [right, wrong] = [true, false].map((wanted) => pairs.filter(([, isRight]) => isRight === wanted));
  if (right.length === 0 || wrong.length === 0) return null;
  const order = (one, other) => (one > other ? 1 : one === other ? 0.5 : 0);
  const wins = right.reduce((sum, [one]) => sum + wrong.reduce((own, [other]) => own + order(one, other), 0), 0);
  return wins / (right.length * wrong.length);
}

/** One line of an evaluation. */
export function confidenceLine(pairs) {
  const right = pairs.filter(([, isRight]) => isRight).length;
  const area = areaUnderCurve(pairs)?.toFixed(2) ?? 'unknown';
  return `confidence: ${pairs.length} turns with calls, ${right} right, area under the curve ${area}`;
}

const binCount = 5;

/** Turns by their confidence: a bin for each fifth, with the mean confidence and the share that is right. */
export function binsOf(pairs) {
  const bins = Array.from({ length: binCount }, (_, index) =>
    pairs.filter(([confidence]) => Math.min(binCount - 1, Math.floor(confidence * binCount)) === index),
  );
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return bins
    .filter((bin) => bin.length > 0)
    .map((bin) => ({
      count: bin.length,
      confidence: mean(bin.map(([confidence]) => confidence)),
      right: mean(bin.map(([, isRight]) => Number(isRight))),
    }));
}

const size = 240;
const margin = 40;
const colours = ['#2563eb', '#d97706', '#059669'];

/** The plot of series with a name and pairs: a dot for each bin, larger where it has more turns. */
export function reliabilitySvg(series) {
  const [x, y] = [(value) => margin + value * size, (value) => margin / 2 + (1 - value) * size];
  const [width, height] = [size + margin * 1.5, size + margin * 1.5 + series.length * 18];
  const texts = [0, 0.5, 1].flatMap((value) => [
    `<text x="${x(value)}" y="${y(0) + 16}" text-anchor="middle">${value}</text>`,
    `<text x="${x(0) - 6}" y="${y(value) + 4}" text-anchor="end">${value}</text>`,
  ]);
  const drawn = series.map(({ name, pairs }, index) => {
    const colour = colours[index % colours.length];
    const bins = binsOf(pairs);
    const points = bins.map(({ confidence, right }) => `${x(confidence).toFixed(1)},${y(right).toFixed(1)}`);
    const dots = bins.map(({ count }, at) => {
      const [cx, cy] = points[at].split(',');
      return `<circle cx="${cx}" cy="${cy}" r="${(2 + 8 * Math.sqrt(count / pairs.length)).toFixed(1)}" fill="${colour}" fill-opacity="0.7"/>`;
    });
    const legend = `<text x="${x(0)}" y="${y(0) + 52 + index * 18}" fill="${colour}">${name}</text>`;
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}"/>${dots.join('')}${legend}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="#555">
<rect width="100%" height="100%" fill="#fff"/>
<rect x="${x(0)}" y="${y(1)}" width="${size}" height="${size}" fill="none" stroke="#999"/>
<line x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}" stroke="#999" stroke-dasharray="4"/>
${texts.join('')}
<text x="${x(0.5)}" y="${y(0) + 32}" text-anchor="middle">confidence</text>
<text transform="rotate(-90)" x="${-y(0.5)}" y="12" text-anchor="middle">share of right calls</text>
${drawn.join('\n')}
</svg>
`;
}

async function draw(files) {
  const series = [];
  for (const file of files) {
    const { model, evaluation, confidences } = JSON.parse(await readFile(file, 'utf8'));
    series.push({ name: `${model}, ${evaluation}`, pairs: confidences });
  }
  process.stdout.write(reliabilitySvg(series));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await draw(process.argv.slice(2));
