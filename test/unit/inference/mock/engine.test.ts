import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { readMockScript } from '../../../../src/inference/mock/script.ts';
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

  it('gives a recorded answer whole, and ends it as it was ended', async () => {
    const { sequence } = await openMock([
      { match: 'cut', answer: 'one two three' },
      { match: 'length', answer: 'one two three', finish: 'length' },
      { match: 'end', answer: 'one two three', finish: 'end' },
    ]);
    const answer = async (text: string) => {
      const sampling = { ...greedy, max_tokens: 1 };
      const { text: said, finishReason } = await generate(sequence, userPrompt(text), { sampling });
      return [said, finishReason];
    };
    expect(await answer('cut')).toEqual(['one ', 'length']);
    expect(await answer('length')).toEqual(['one two three', 'length']);
    expect(await answer('end')).toEqual(['one two three', 'end']);
  });

  it('skips an entry of a test case where no case runs', async () => {
    const { sequence } = await openMock([
      { answer: 'In the case.', case: 'greets' },
      { answer: 'In a turn.', turn: 2 },
      { answer: 'Everywhere.' },
    ]);
    expect((await generate(sequence, userPrompt('Hi'))).text).toBe('Everywhere.');
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
    const wait = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => wait.mockRestore());
    await generate(sequence, userPrompt('x'));
    expect(wait.mock.calls.filter(([, ms]) => ms === delayMs)).toHaveLength(3);
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

describe('the mock engine, when it scores answers', () => {
  const scoreOf = async (script: readonly object[], text: string, answers: readonly string[], inference = 1) => {
    const { model } = await openMock(script);
    const sequence = model.openSequence({ label: 'route' });
    const { scores } = await sequence.score(userPrompt(text), answers, { signal: neverAborted, inference });
    return scores.map((score) => Number(Math.exp(score).toPrecision(6)));
  };

  it('gives the probabilities of the first entry with scores that matches', async () => {
    const script = [
      { match: 'beer', answer: 'Here you are.' },
      { match: 'beer', node: 'other', scores: { chat: 1 } },
      { match: 'beer', nth: 2, scores: { chat: 1 } },
      { match: 'beer', scores: { order: 0.8, chat: 0.2 }, answer: 'Not this.' },
      { node: 'route', scores: { order: 0, chat: 0.5 } },
    ];
    expect(await scoreOf(script, 'a beer', ['chat', 'order', 'leave'])).toEqual([0.2, 0.8, 1e-6]);
    expect(await scoreOf(script, 'a beer', ['chat', 'order'], 2)).toEqual([1, 1e-6]);
    expect(await scoreOf(script, 'hello', ['chat', 'order'])).toEqual([0.5, 1e-6]);
  });

  it('answers from entries with an answer', async () => {
    const { sequence } = await openMock([{ scores: { order: 1 } }, { match: 'beer', answer: 'Here you are.' }]);
    expect((await generate(sequence, userPrompt('a beer'))).text).toBe('Here you are.');
  });

  it('prefers the answer with the most words of the last message without a script', async () => {
    const answers = ['order food', 'order', 'chat'];
    expect(await scoreOf([], 'I want to Order.', answers)).toEqual([0.471429, 0.471429, 0.0471429]);
    expect(await scoreOf([], 'I order some food!', answers)).toEqual([0.891892, 0.0891892, 0.00891892]);
    expect(await scoreOf([], 'Hello', ['yes', 'no'])).toEqual([0.495, 0.495]);
  });

  it('waits the delay of its entry for each answer, and ends when it is aborted', async () => {
    const { sequence } = await openMock([{ scores: { yes: 1 }, delay_ms: 86_400_000 }]);
    const control = new AbortController();
    const pending = sequence.score(userPrompt('x'), ['yes', 'no'], { signal: control.signal });
    await yieldToEventLoop();
    control.abort();
    expect(await pending).toMatchObject({ finishReason: 'aborted', scores: [] });
    const disposed = sequence.score(userPrompt('x'), ['yes', 'no'], { signal: neverAborted });
    await sequence[Symbol.asyncDispose]();
    expect(await disposed).toMatchObject({ finishReason: 'aborted', scores: [] });
  });

  it('records the prompts', async () => {
    const { engine, sequence } = await openMock();
    await sequence.score(userPrompt('Which?'), ['a'], { signal: neverAborted });
    expect(engine.prompts).toEqual([userPrompt('Which?')]);
  });
});

describe('a mock script', () => {
  it.each([
    ['{', 'the mock script s.json: it is not valid JSON'],
    ['{}', 'the script must be an array'],
    ['[{"match": "a"}]', 's.json: /0 must have an answer, or scores for a node that scores answers'],
    ['[{"scores": {"yes": 1.5}}]', '/0/scores/yes must be <= 1, not 1.5'],
    ['[{"scores": {"yes": "high"}}]', '/0/scores/yes must be a number, not "high"'],
    ['[{"scores": {"yes": 0.7, "no": 0.5}}]', '/0/scores must not add up to more than 1, not 1.2'],
    ['[{"match": "a", "answer": "b", "dealy_ms": 3}]', '/0/dealy_ms is not known here; did you mean "delay_ms"?'],
    // A timer with more than that ends at once.
    ['[{"answer": "b", "delay_ms": 3000000000}]', '/0/delay_ms must be <= 2147483647, not 3000000000'],
    ['[{"match": "a", "answer": "b", "nth": 0}]', '/0/nth must be >= 1, not 0'],
    ['[{"match": "a", "answer": "b", "nth": 1.5}]', '/0/nth must be an integer, not 1.5'],
    ['[{"match": "a", "answer": "b", "node": ""}]', '/0/node must not be empty'],
    ['[{"answer": "b", "turn": 0}]', '/0/turn must be >= 1, not 0'],
    ['[{"answer": "b", "finish": "ended"}]', '/0/finish must be one of "end", "length", "stop", not "ended"'],
    ['[{"match": "a", "answer": 3}]', '/0/answer must be a string, not 3'],
    ['[{"match": "a", "answer": "b"}, {"match": "(", "answer": "b"}]', 's.json: /1/match: is not a supported pattern'],
    ['[{"match": "(?=a)", "answer": "b"}]', 'is not a supported pattern (RE2 syntax, no lookaround or backreferences)'],
  ])('%s is rejected: %s', (text, why) => {
    expect(() => readMockScript(text, 's.json')).toThrow(why);
  });
});
