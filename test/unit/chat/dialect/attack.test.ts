import { describe, expect, it } from 'vitest';
import { fuzzTarget } from '../../../../scripts/fuzz/detect.mjs';
import { nativeFormats, nativeLayouts } from '../../../../scripts/nativeLayouts.mjs';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { callMarks } from '../../../../src/chat/dialect/layout.ts';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { isWhole, scaled } from '../../../helpers/depth.ts';
import { expectLinearTime } from '../../../helpers/linearTime.ts';
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

  it.each(layouts)('of %s takes linear time', async (_name, { layout, outputs }) => {
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
        const count = Math.max(unit === output ? 20 : 150, Math.ceil(scaled(1000) / unit.length));
        await expectLinearTime((times) => format.detect(start + unit.repeat(times * count)), `${start}${unit}...`);
      }
    }
  });
});
