import { expect, it } from 'vitest';
import {
  areaUnderCurve,
  binsOf,
  confidenceLine,
  Confidences,
  reliabilitySvg,
} from '../../scripts/evals/confidence.mjs';

it('counts of each turn the lowest confidence, and leaves out turns without one', () => {
  const confidences = new Confidences();
  confidences.add([{ confidence: 0.9 }, { confidence: 0.4 }], true);
  confidences.add([{}], true);
  confidences.add([], false);
  expect(confidences.pairs).toEqual([[0.4, true]]);
});

it('measures how often a right turn has the higher confidence', () => {
  expect(areaUnderCurve([[0.9, true]])).toBe(null);
  const pairs: [number, boolean][] = [
    [0.9, true],
    [0.5, true],
    [0.5, false],
    [0.1, false],
  ];
  expect(areaUnderCurve(pairs)).toBe(0.875);
  expect(confidenceLine(pairs)).toBe('confidence: 4 turns with calls, 2 right, area under the curve 0.88');
});

it('draws the share of right turns by their confidence', () => {
  const pairs: [number, boolean][] = [
    [1, true],
    [0.9, false],
    [0.1, false],
  ];
  expect(binsOf(pairs)).toEqual([
    { count: 1, confidence: 0.1, right: 0 },
    { count: 2, confidence: 0.95, right: 0.5 },
  ]);
  expect(reliabilitySvg([{ name: 'a model', pairs }]).match(/<circle/g)).toHaveLength(2);
});
