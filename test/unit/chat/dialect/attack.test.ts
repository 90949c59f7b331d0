import { describe, expect, it } from 'vitest';
import { fuzzTarget } from '../../../../scripts/fuzz/detect.mjs';
import { nativeFormats, nativeLayouts } from '../../../../scripts/nativeLayouts.mjs';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { callMarks } from '../../../../src/chat/dialect/layout.ts';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { isWhole, scaled } from '../../../helpers/depth.ts';
import { callText, layoutOf, sampleTools } from '../../../helpers/templates/dialects.ts';
import { notationTemplates } from '../../../helpers/templates/notations.ts';

const layouts = Object.entries(nativeLayouts);

describe('the layouts that are attacked', () => {
  it.each(layouts)('%s is the one that is read off its template', (name, { layout }) => {
    expect(layoutOf(notationTemplates[name as keyof typeof notationTemplates])).toEqual(layout);
  });
});

describe('detection in native layouts', () => {
  it('finds only valid calls in corrupted outputs', () => {
    const formats = nativeFormats(nativeFormat);
    const count = isWhole ? 400 : 200;
    expect(fuzzTarget({ formats, stringifyJson }, { count, seed: 11 }).calls).toBeGreaterThan(count / 4);
  });

  it.each(layouts)('of %s: a text that is cut anywhere has the first of its calls, or none', (_name, native) => {
    const format = nativeFormat(native.layout);
    for (const output of native.outputs) {
      const whole = format.detect(output, { tools: sampleTools }).calls.map(callText);
      expect(whole.length).toBeGreaterThan(0);
      for (let length = 0; length < output.length; length++) {
        const calls = format.detect(output.slice(0, length), { tools: sampleTools }).calls.map(callText);
        expect(calls, output.slice(0, length)).toEqual(whole.slice(0, calls.length));
      }
    }
  });

  it.each(layouts)('of %s takes linear time', (_name, { layout, outputs }) => {
    const format = nativeFormat(layout);
    const [output = ''] = outputs;
    const units = [
      ...callMarks(layout),
      output.slice(0, 12),
      output.slice(0, 26),
      output,
      '[',
      '{',
      '"',
      "'",
      '<',
      '=',
      '(',
    ];
    for (const unit of units) {
      for (const start of ['', output.slice(0, output.indexOf('Oban'))]) {
        // Deeper than values may be nested, also in the short one; a whole output nests nothing.
        const count = Math.max(unit === output ? 20 : 70, Math.ceil(scaled(1000) / unit.length));
        const [short, long] = [start + unit.repeat(count), start + unit.repeat(8 * count)];
        // In quadratic time, one long text would take eight times as long as eight short ones of the same total length.
        let [longMs, eightShortMs] = [Infinity, Infinity];
        for (let tries = 0; tries < 200 && !(longMs < 4 * eightShortMs); tries++) {
          longMs = Math.min(
            longMs,
            timeOf(() => format.detect(long), 1),
          );
          eightShortMs = Math.min(
            eightShortMs,
            timeOf(() => format.detect(short), 8),
          );
        }
        expect(longMs, `${start}${unit}...`).toBeLessThan(4 * eightShortMs);
      }
    }
  });
});

/** Milliseconds that it takes to run something a number of times. */
function timeOf(run: () => unknown, times: number): number {
  const start = performance.now();
  for (let time = 0; time < times; time++) run();
  return performance.now() - start;
}
