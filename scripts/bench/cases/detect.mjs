// detect: throughput of tool-call detection in megabytes of model output per second, and growth of its time with the length.
//
// Realistic: all outputs of test/fixtures/cases, each in its own format, repeatedly; only reported. Growth: time of a text four
// times as long / of the text itself four times, so that garbage is collected in both, 1 if linear; for outputs joined together,
// and for adversarial inputs, of which the worst counts; in native layouts these are repeats of their own marks. Each time is the
// minimum of several, because noise only adds to it.
import { formats } from '../../../dist/chat/formats/index.js';
import { callMarks } from '../../../dist/chat/dialect/layout.js';
import { nativeFormat } from '../../../dist/chat/dialect/nativeFormat.js';
import { readJsonLines } from '../../evals/readJson.mjs';
import { nativeFormats, nativeLayouts } from '../../nativeLayouts.mjs';
import { createResult, median } from '../results.mjs';

const repeats = 4_000;
const growthFactor = 4;
const goal = 1.5;

const adversarialInputs = {
  '{': (count) => '{'.repeat(count),
  '<tool_call>': (count) => '<tool_call>'.repeat(count),
  '<tool_call>{': (count) => '<tool_call>{'.repeat(count),
  '[': (count) => '['.repeat(count),
  '{"': (count) => '{"'.repeat(count),
  '```json\n{': (count) => '```json\n{'.repeat(count),
  '<think>': (count) => '<think>'.repeat(count),
  '[TOOL_CALLS]': (count) => '[TOOL_CALLS]'.repeat(count),
  '{"name": "f", "arguments": {"a": ': (count) => '{"name": "f", "arguments": {"a": '.repeat(count),
};

export const detect = {
  name: 'detect',
  async run(bench) {
    const cases = (await Promise.all(['tool-calls', 'tool-calls-more'].map(readCases))).flat();
    const passes = Array.from({ length: bench.repeats(15, 5) }, () => rateOver(cases));
    const tries = bench.repeats(9, 5);
    const joined = Object.fromEntries(
      [...formats].map(([name]) => [name, growth(formats.get(name), joinedOutputs(cases, name), 10, tries)]),
    );
    const worst = Object.fromEntries([
      ...Object.entries(adversarialInputs).map(([piece, text]) => [piece, maxGrowth(text, tries)]),
      ...nativeInputs().map(({ name, format, piece }) => [
        `${name} ${piece}`,
        { format: name, ...growth(format, (count) => piece.repeat(count), repeats, tries) },
      ]),
    ]);
    const [worstPiece, { ratio, ms, format }] = Object.entries(worst).toSorted(([, a], [, b]) => b.ratio - a.ratio)[0];
    return [
      createResult({
        name: 'detect',
        of: 'realistic',
        ratio: median(passes.slice(1)),
        unit: 'MB/s',
        goal: null,
        better: 'higher',
        outputs: cases.length,
      }),
      createResult({
        name: 'detect',
        of: 'growth, realistic',
        ratio: Math.max(...Object.values(joined).map((one) => one.ratio)),
        goal,
        better: 'lower',
        formats: joined,
      }),
      createResult({
        name: 'detect',
        of: 'growth, hostile',
        ratio,
        goal,
        better: 'lower',
        worst: worstPiece,
        in: format,
        ms,
        slowestMs: Math.max(...Object.values(worst).map((one) => one.ms)),
        inputs: worst,
      }),
    ];
  },
};

const readCases = (name) => readJsonLines(new URL(`../../../test/fixtures/cases/${name}.jsonl`, import.meta.url));

// A hundred passes, because all outputs together are only tens of kilobytes.
function rateOver(cases) {
  const bytes = cases.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  const passes = 100;
  const start = performance.now();
  for (let pass = 0; pass < passes; pass++) {
    for (const { format, text } of cases) formats.get(format).detect(text);
  }
  return (passes * bytes) / 1e3 / (performance.now() - start);
}

const joinedOutputs = (cases, name) => {
  const text = cases
    .filter(({ format }) => format === name)
    .map((one) => one.text)
    .join('\n');
  return (count) => text.repeat(count);
};

/** The marks of each native layout, and the beginning of a call. */
const nativeInputs = () =>
  [...nativeFormats(nativeFormat)].flatMap(([name, format]) => {
    const { layout, outputs } = nativeLayouts[name.replace('native ', '')];
    const pieces = [...callMarks(layout), outputs[0].slice(0, outputs[0].indexOf('Oban'))];
    return pieces.map((piece) => ({ name, format, piece }));
  });

function maxGrowth(text, tries) {
  const all = [...formats.values()].map((format) => ({ format: format.name, ...growth(format, text, repeats, tries) }));
  return all.toSorted((a, b) => b.ratio - a.ratio)[0];
}

/** Time of the longer text / of as much of the shorter one, and the milliseconds of the shorter one. */
function growth(format, text, count, tries) {
  const long = [text(growthFactor * count)];
  const short = Array.from({ length: growthFactor }, () => text(count));
  const best = { long: Infinity, short: Infinity };
  for (let round = 0; round < tries; round++) {
    for (const [which, texts] of Object.entries({ long, short })) {
      const start = performance.now();
      for (const one of texts) format.detect(one);
      best[which] = Math.min(best[which], performance.now() - start);
    }
  }
  return { ratio: best.long / best.short, ms: best.short / growthFactor };
}
