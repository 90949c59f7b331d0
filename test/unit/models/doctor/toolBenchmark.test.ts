import { describe, expect, it, vi } from 'vitest';
import { mockEngine, readMockScript } from '../../../../src/engine/mock/engine.ts';
import { adviseOn, formatFor } from '../../../../src/models/doctor/advice.ts';
import type { CatalogueEntry } from '../../../../src/models/catalogue/catalogue.ts';
import { defaultSampling } from '../../../../src/models/catalogue/sampling.ts';
import { countRight, benchmarkFormat, type FormatScore } from '../../../../src/models/doctor/toolBenchmark.ts';
import { chatml } from '../../../../src/tools/formats/chatml.ts';
import { formats } from '../../../../src/tools/formats/index.ts';

const call = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** What the doctor makes of a model that answers by a script, in chatml. */
async function trialOf(script: Readonly<Record<string, string>>): Promise<FormatScore> {
  const entries = Object.entries(script).map(([match, answer]) => ({ match, answer }));
  await using engine = mockEngine({ script: readMockScript(JSON.stringify(entries), 'script') });
  const model = await engine.load('', { contextSize: 0, slots: 1, threads: 1, gpu: 'off' });
  const format = formats.get('chatml');
  if (!format) throw new Error('there is no chatml');
  const signal = new AbortController().signal;
  return await benchmarkFormat(model, format, { sampling: defaultSampling, signal, onAnswer: () => undefined });
}

describe('a trial of a tool-call format', () => {
  it('knows a right call by its name and its values, whatever their type and case', async () => {
    const { free, strict } = await trialOf({
      kitchen: call('set_light', { room: 'Kitchen', on: 'true' }),
      bedroom: call('set_light', { room: 'the bedroom', on: false }),
      apples: call('give_item', { item: 'apples', count: '3' }),
      torches: call('give_item', { item: 'torch', count: 12 }),
      cellar: call('set_light', { room: 'cellar', on: true }),
      evening: 'Very well, thank you.',
    });
    expect([countRight(free), free.length]).toEqual([6, 6]);
    // What is bound by grammar has its types right, or it is none.
    expect(strict?.map(({ outcome }) => outcome)).toEqual(['no call', 'right', 'no call', 'right', 'right', 'right']);
  });

  it('says of the others what is wrong', async () => {
    const { free } = await trialOf({
      kitchen: call('set_light', { room: 'hall', on: true }),
      bedroom: call('set_light', { room: 'bedroom', on: false }) + call('set_light', { room: 'bedroom', on: false }),
      apples: call('give_item', { item: 'apples', count: 3, now: true }),
      torches: '<tool_call>\n{"name": "give_item", "arguments": {"item": "tor',
      cellar: 'How sad.',
      evening: call('set_light', { room: 'inn', on: true }),
    });
    expect(free.map(({ expectsCall, outcome }) => [expectsCall, outcome])).toEqual([
      [true, 'wrong call'],
      [true, 'wrong call'],
      [true, 'wrong call'],
      [true, 'cut off'],
      [true, 'no call'],
      [false, 'unexpected call'],
    ]);
    expect(free[4]?.text).toBe('How sad.');
  });

  it('compiles the grammar once for all questions', async () => {
    await using engine = mockEngine();
    const model = await engine.load('', { contextSize: 0, slots: 1, threads: 1, gpu: 'off' });
    const grammar = vi.fn(chatml.grammar);
    const { signal } = new AbortController();
    await benchmarkFormat(
      model,
      { ...chatml, grammar },
      { sampling: defaultSampling, signal, onAnswer: () => undefined },
    );
    expect(grammar).toHaveBeenCalledOnce();
  });
});

describe('the format that is advised', () => {
  const answers = (right: number) =>
    Array.from({ length: 6 }, (_, index) => ({
      message: '',
      text: '',
      expectsCall: index < 5,
      outcome: index < right ? ('right' as const) : ('no call' as const),
    }));
  const trial = (format: string, right: number): FormatScore => ({ format, free: answers(right), strict: undefined });
  const entry = (tool_call_format = ''): CatalogueEntry => ({
    name: 'model',
    description: '',
    tool_call_format,
    default_sampling: {},
    variants: [],
    file: undefined,
  });
  const trials = [trial('chatml', 1), trial('llama3', 4), trial('generic', 4)];

  it.each<[string, CatalogueEntry, string | undefined, readonly FormatScore[] | undefined, object]>([
    ['what models.json says', entry('mistral'), 'chatml', trials, { name: 'mistral', isFound: true }],
    ['else what the model shows', entry(), 'chatml', trials, { name: 'chatml', isFound: true }],
    ['else what it did best in', entry(), undefined, trials, { name: 'llama3', isFound: true }],
    ['else the usual one', entry(), undefined, undefined, { name: 'chatml', isFound: false }],
    ['the usual one of a model that calls nothing', entry(), undefined, [trial('llama3', 0)], { isFound: false }],
  ])('is %s', (_, given, detected, tried, expected) => {
    expect(formatFor(given, detected, tried)).toMatchObject(expected);
  });

  it('comes with a word where another does clearly better', () => {
    const of = (format: string): readonly string[] => [
      ...adviseOn({
        target: { entry: entry(format), isListed: true, files: [], existingName: undefined },
        eogTokens: ['</s>'],
        detectedFormat: undefined,
        format: formatFor(entry(format)),
        trials,
      }),
    ];
    expect(of('chatml')).toEqual([
      'llama3 got 4 answers right and chatml 1: "tool_call_format": "llama3" may work better',
    ]);
    expect(of('generic')).toEqual([]);
  });
});
