import { describe, expect, it } from 'vitest';
import { adviseOn, formatFor } from '../../../../src/cli/doctor/advice.ts';
import type { CatalogueEntry } from '../../../../src/inference/models/catalogue/catalogue.ts';
import type { FormatScore } from '../../../../src/cli/doctor/toolBenchmark.ts';

describe('the advised format', () => {
  const answers = (right: number) =>
    Array.from({ length: 6 }, (_, index) => ({
      message: '',
      text: '',
      expectsCall: index < 5,
      outcome: index < right ? ('right' as const) : ('no call' as const),
    }));
  const score = (format: string, right: number): FormatScore => ({ format, free: answers(right), strict: undefined });
  const entry = (tool_call_format = ''): CatalogueEntry => ({
    name: 'model',
    description: '',
    tool_call_format,
    default_sampling: {},
    purpose: 'chat',
    min_tokens_per_second: 0,
    variants: [],
    file: undefined,
  });
  const scores = [score('chatml', 1), score('llama3', 4), score('generic', 4)];

  it.each<[string, CatalogueEntry, string | undefined, readonly FormatScore[] | undefined, object]>([
    ['that of models.json', entry('mistral'), 'chatml', scores, { name: 'mistral', isFound: true }],
    ['else the detected one', entry(), 'chatml', scores, { name: 'chatml', isFound: true }],
    ['else the one with the best score', entry(), undefined, scores, { name: 'llama3', isFound: true }],
    ['else the default', entry(), undefined, undefined, { name: 'chatml', isFound: false }],
    ['the default for a model that calls nothing', entry(), undefined, [score('llama3', 0)], { isFound: false }],
  ])('is %s', (_, catalogueEntry, detected, measured, expected) => {
    expect(formatFor(catalogueEntry, { format: detected, because: 'it is proved' }, measured)).toMatchObject(expected);
  });

  it('comes with a note when another format is clearly better', () => {
    const adviceFor = (format: string, min_tokens_per_second = 0): readonly string[] => [
      ...adviseOn(
        {
          entry: { ...entry(format), min_tokens_per_second },
          isListed: true,
          files: [],
          existingName: undefined,
        },
        {
          model: { tokens: { bos: undefined, addsBos: false, eog: ['</s>'], toolTokens: {} } },
          toolDialect: { format: undefined },
          format: formatFor(entry(format), { format: undefined, because: '' }),
          trials: scores,
          speed: { decodePerSecond: 9.87 },
        },
      ),
    ];
    expect(adviceFor('chatml')).toEqual([
      'llama3 got 4 answers right and chatml 1: "tool_call_format": "llama3" may work better',
    ]);
    expect(adviceFor('generic')).toEqual([]);
    expect(adviceFor('generic', 10)).toEqual([
      '9.9 tokens per second were measured, and min_tokens_per_second is 10: lists of models pass it over on this machine',
    ]);
  });
});
