import { syncBuiltinESMExports } from 'node:module';
import timers, { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { mockEngine, readMockScript } from '../../../../src/engine/mock/engine.ts';
import { userPrompt, greedy, neverAborted, generate } from '../../../contracts/generation.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const load = { contextSize: 0, slots: 1, threads: 1, gpu: 'off' } as const;

async function openMock(script: readonly object[] = []) {
  const engine = mockEngine({ script: readMockScript(JSON.stringify(script), 'script.json') });
  const model = await engine.load('', load);
  return { engine, model, sequence: model.openSequence() };
}

/** Waits until all but a few of the objects are garbage-collected. */
async function untilCollected(references: readonly WeakRef<object>[]): Promise<void> {
  do {
    // deref() keeps an object alive until the next turn of the event loop.
    await yieldToEventLoop();
    collectGarbage();
  } while (references.filter((reference) => reference.deref()).length >= 10);
}

const lampResult = { kind: 'result', callId: 'a', name: 'set_light', content: 'on' } as const;

describe('the mock engine', () => {
  it("repeats the user's message without a script", async () => {
    const { sequence } = await openMock();
    expect((await generate(sequence, userPrompt('Hello there'))).text).toBe('You said: Hello there');
  });

  it('answers with the first entry that matches', async () => {
    const { sequence } = await openMock([
      { match: '^turn (on|off)', answer: 'Click.' },
      { match: '(?i)TURN', answer: 'No.' },
    ]);
    expect((await generate(sequence, userPrompt('turn on the light'))).text).toBe('Click.');
    expect((await generate(sequence, userPrompt('Do not turn it on'))).text).toBe('No.');
    expect((await generate(sequence, userPrompt('What?'))).text).toBe('You said: What?');
  });

  it('answers by node and by the number of the inference', async () => {
    const { model } = await openMock([
      { match: '', node: 'detect', nth: 3, answer: 'third, detect' },
      { match: '', node: 'detect', answer: 'detect' },
      { match: '', nth: 2, answer: 'second' },
    ]);
    const [detect, other] = ['detect', 'Detect'].map((label) => model.openSequence({ label }));
    const answers = async (sequence = other) => {
      const inferences = [1, 2, 3, undefined];
      return Promise.all(
        inferences.map(
          async (inference) =>
            (await generate(sequence ?? model.openSequence(), userPrompt('x'), { ...(inference && { inference }) }))
              .text,
        ),
      );
    };
    expect(await answers(detect)).toEqual(['detect', 'detect', 'third, detect', 'detect']);
    expect(await answers(other)).toEqual(['You said: x', 'second', 'You said: x', 'You said: x']);
  });

  it.each([
    ['is not a tool result', [{ role: 'user', text: 'Result: on', toolExchange: lampResult }], {}, 'light on'],
    [
      'is the one of the turn, whatever follows it',
      [{ role: 'user', text: 'Be brief.' }],
      { message: 'light on' },
      'light on',
    ],
    ['is the last one of the prompt where none is named', [{ role: 'user', text: 'Be brief.' }], {}, 'Be brief.'],
  ] as const)("matches the user's message, which %s", async (_, later, options, expected) => {
    const { sequence } = await openMock();
    const messages = [...userPrompt('light on').messages, ...later];
    expect((await generate(sequence, { messages }, options)).text).toBe(`You said: ${expected}`);
  });

  it('records its prompts', async () => {
    const { engine, sequence } = await openMock();
    await generate(sequence, userPrompt('one'));
    await generate(sequence, userPrompt('two'));
    expect(engine.prompts).toEqual([userPrompt('one'), userPrompt('two')]);
  });

  it('emits words, or chunks of a number of characters', async () => {
    const { sequence } = await openMock([
      { match: 'chunk', answer: '🎉🎊a b', chunk: 2 },
      { match: 'word', answer: 'one  two\nthree' },
    ]);
    expect((await generate(sequence, userPrompt('chunk'))).pieces).toEqual(['🎉🎊', 'a ', 'b']);
    expect((await generate(sequence, userPrompt('word'))).pieces).toEqual(['one  ', 'two\n', 'three']);
  });

  it('waits before each chunk', async () => {
    const delayMs = 10;
    const { sequence } = await openMock([{ match: '', answer: 'a b c', delay_ms: delayMs }]);
    const waits: number[] = [];
    const wait = vi.spyOn(timers, 'setTimeout').mockImplementation(async (ms = 0) => void waits.push(ms));
    syncBuiltinESMExports();
    onTestFinished(() => {
      wait.mockRestore();
      syncBuiltinESMExports();
    });
    await generate(sequence, userPrompt('x'));
    expect(waits).toEqual([delayMs, delayMs, delayMs]);
  });

  it('counts one token per four characters', async () => {
    const { model, sequence } = await openMock([{ match: '', answer: 'twelve chars' }]);
    expect(await model.count(['', 'a', 'four', 'five.'])).toEqual([0, 1, 1, 2]);
    const { tokens } = await generate(sequence, userPrompt('four', 'five.'));
    expect(tokens).toEqual({ prompt: 3 + (4 + 2) + (4 + 1), reused: 0, generated: 3 });
  });

  it('omits control tokens unless controlTokens is set', async () => {
    const { sequence } = await openMock([{ match: '', answer: '[TOOL_CALLS][{}]<|python_tag|>' }]);
    expect((await generate(sequence, userPrompt('x'))).text).toBe('[{}]');
    expect((await generate(sequence, userPrompt('x'), { controlTokens: true })).text).toBe(
      '[TOOL_CALLS][{}]<|python_tag|>',
    );
    expect((await generate(sequence, userPrompt('x'), { controlTokens: ['[TOOL_CALLS]'] })).text).toBe(
      '[TOOL_CALLS][{}]',
    );
  });

  it.each([
    ['the whole', { max_tokens: 99 }, '[TOOL_CALLS]one <|a|>two<|b|>'],
    ['what max_tokens leaves', { max_tokens: 1 }, '[TOOL_CALLS]one <|a|>'],
    ['what precedes a stop string', { stop: ['wo'] }, '[TOOL_CALLS]one <|a|>t'],
  ])('shows control tokens in the transcript: %s', async (_, sampling, expected) => {
    const { sequence } = await openMock([{ match: '', answer: '[TOOL_CALLS]one <|a|>two<|b|>' }]);
    const { transcript } = await generate(sequence, userPrompt('x'), { transcript: true, sampling });
    expect(transcript?.text).toBe(expected);
  });

  it('does not keep completions in memory', async () => {
    const { sequence } = await openMock();
    const completions: WeakRef<object>[] = [];
    for (let count = 0; count < 300; count++)
      completions.push(
        new WeakRef(await sequence.generate(userPrompt('x'), { sampling: greedy, signal: neverAborted })),
      );
    await untilCollected(completions);
    await sequence[Symbol.asyncDispose]();
  });

  it('does not keep a disposed model in memory', async () => {
    const { engine } = await openMock();
    const models: WeakRef<object>[] = [];
    for (let count = 0; count < 30; count++) {
      await using model = await engine.load('', load);
      models.push(new WeakRef(model));
    }
    await untilCollected(models);
    await engine[Symbol.asyncDispose]();
  });
});

describe('a mock script', () => {
  it.each([
    ['{', 'the mock script s.json: it is not valid JSON'],
    ['{}', 'the script must be an array'],
    ['[{"match": "a"}]', '/0/answer is missing'],
    ['[{"match": "a", "answer": "b", "dealy_ms": 3}]', '/0/dealy_ms is not known here; did you mean "delay_ms"?'],
    ['[{"match": "a", "answer": "b", "nth": 0}]', '/0/nth must be >= 1, not 0'],
    ['[{"match": "a", "answer": "b", "nth": 1.5}]', '/0/nth must be an integer, not 1.5'],
    ['[{"match": "a", "answer": "b", "node": ""}]', '/0/node must NOT have fewer than 1 characters'],
    ['[{"match": "a", "answer": 3}]', '/0/answer must be a string, not 3'],
    ['[{"match": "a", "answer": "b"}, {"match": "(", "answer": "b"}]', 's.json: /1/match: is not a supported pattern'],
    ['[{"match": "(?=a)", "answer": "b"}]', 'is not a supported pattern (RE2 syntax, no lookaround or backreferences)'],
  ])('%s is rejected: %s', (text, why) => {
    expect(() => readMockScript(text, 's.json')).toThrow(why);
  });
});
