import { describe, expect, it } from 'vitest';
import {
  defaultSampling,
  mergeSampling,
  renameSampling,
  samplingColumn,
  samplingSchema,
} from '../../../../src/inference/contract/samplingParams.ts';
import { createReader } from '../../../../src/protocol/schema.ts';

const readParams = createReader({ type: 'object', required: ['sampling'], properties: { sampling: samplingSchema } });
const read = (sampling: object): ReturnType<typeof readParams> => readParams({ sampling });

/** The errors of sampling parameters, each with its place. */
function errorsOf(sampling: object): readonly string[] {
  const reading = read(sampling);
  return reading.ok
    ? []
    : reading.errors.map(({ pointer, message }) => `${pointer.replace('/sampling', '')} ${message}`);
}

describe('sampling parameters', () => {
  it('have defaults for the members of DRY and XTC that are left out, as llama.cpp has them', () => {
    expect(read({ dry: { multiplier: 0.8 }, xtc: { probability: 0.5 } })).toEqual({
      ok: true,
      value: {
        sampling: { dry: { ...defaultSampling.dry, multiplier: 0.8 }, xtc: { probability: 0.5, threshold: 0.1 } },
      },
    });
    // What is absent as a whole comes from the model.
    expect(read({ temperature: 1 })).toEqual({ ok: true, value: { sampling: { temperature: 1 } } });
    expect(read({ dry: {}, xtc: {} })).toEqual({
      ok: true,
      value: { sampling: { dry: defaultSampling.dry, xtc: defaultSampling.xtc } },
    });
  });

  it('take the likeliest token at a temperature that no 32-bit float can divide logits by', () => {
    for (const temperature of [0, 1e-300, 1e-46, 1e-39, 1e-10])
      expect(mergeSampling(defaultSampling, { temperature }).temperature).toBe(0);
    for (const temperature of [1e-6, 0.01, 5])
      expect(mergeSampling(defaultSampling, { temperature }).temperature).toBe(temperature);
    expect(mergeSampling({ ...defaultSampling, temperature: 1e-40 }, { top_k: 3 })).toMatchObject({
      temperature: 0,
      top_k: 3,
    });
  });

  it('may bias texts, and forbid them', () => {
    const logit_bias = { ' dragon': false, yes: 2.5, 'No.': -100, __proto: 1 };
    expect(read({ logit_bias })).toEqual({ ok: true, value: { sampling: { logit_bias } } });
  });

  it.each([
    [{ repeat_penalty: 1e-50 }, '/repeat_penalty must be >= 0.01, not 1e-50'],
    [{ repeat_penalty: 1e39 }, '/repeat_penalty must be <= 100, not 1e+39'],
    [{ dry: 0.8 }, '/dry must be an object, not 0.8'],
    [{ dry: { multiplier: -1 } }, '/dry/multiplier must be >= 0, not -1'],
    [{ dry: { base: 0.5 } }, '/dry/base must be >= 1, not 0.5'],
    [{ dry: { allowed_length: 1.5 } }, '/dry/allowed_length must be an integer, not 1.5'],
    [{ dry: { penalty_last_n: -1 } }, '/dry/penalty_last_n must be >= 0, not -1'],
    [{ dry: { strength: 1 } }, '/dry/strength is not known here'],
    [{ dry: { sequence_breakers: [] } }, '/dry/sequence_breakers must not be empty'],
    [{ dry: { sequence_breakers: [''] } }, '/dry/sequence_breakers/0 must not be empty'],
    [{ xtc: { probability: 2 } }, '/xtc/probability must be <= 1, not 2'],
    [{ xtc: { treshold: 0.1 } }, '/xtc/treshold is not known here; did you mean "threshold"?'],
    [{ logit_bias: [] }, '/logit_bias must be an object, not []'],
    [{ logit_bias: { no: true } }, '/logit_bias/no must be a number from -100 to 100 or false, not true'],
    [{ logit_bias: { no: 101 } }, '/logit_bias/no must be <= 100, not 101'],
    [{ logit_bias: { 'a/b': '1' } }, '/logit_bias/a~1b must be a number from -100 to 100 or false, not "1"'],
    [{ logit_bias: { '': 1 } }, '/logit_bias/ must not be empty'],
    [{ logit_bias: { ['x'.repeat(257)]: 1 } }, `/logit_bias/${'x'.repeat(257)} must have at most 256 characters`],
    [
      { logit_bias: Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`word ${index}`, 1])) },
      '/logit_bias must have at most 256 members',
    ],
  ])('are refused with their place: %j', (sampling, expected) => {
    const errors = errorsOf(sampling);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(expected);
  });

  it('are renamed for a frame and for the API openai, in the order of the table, and those that it does not have are left out', () => {
    const sampling = { ...defaultSampling, top_p: 0.9, repeat_penalty: 1.1 };
    expect(renameSampling(sampling, 'wire')).toMatchObject({ topP: 0.9, repeatPenalty: 1.1, maxTokens: 2048 });
    expect(Object.keys(renameSampling(sampling, 'openAi')).join()).toBe(
      'temperature,top_p,top_k,min_p,repetition_penalty,presence_penalty,frequency_penalty',
    );
  });

  it('have their column for a drafted entry of models.json', () => {
    expect(samplingColumn('default', 'drafted')).toEqual({
      temperature: 0.7,
      top_p: 1,
      top_k: 0,
      min_p: 0.05,
      repeat_penalty: 1,
    });
  });
});
