import { describe, expect, it } from 'vitest';
import {
  isRecording,
  Recorder,
  recordingEntries,
  type PlacedInference,
} from '../../../../src/cli/graphTests/recordFile.ts';
import { generate, userPrompt } from '../../../contracts/generation.ts';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { findReply, readMockScript } from '../../../../src/inference/mock/script.ts';

const inference = (fields: Partial<PlacedInference>): PlacedInference => ({
  case: 'one',
  turn: 1,
  message: 'yes',
  node: 'answer',
  inference: 1,
  answer: { answer: 'Fine.' },
  ...fields,
});

describe('the entries of a recording', () => {
  it('have how probable each call of an answer is, in full', async () => {
    const recorder = new Recorder();
    const completionOf = async (script: string) => {
      const engine = recorder.watch(mockEngine({ script: readMockScript(script, 'r.json') }));
      const model = await engine.load('', { contextSize: 0, slots: 1, threads: 1, gpu: 'off' });
      return generate(model.openSequence({ label: 'answer' }), userPrompt('yes'), { choices: true });
    };
    const choices = '0-7:0.5999999 10-12:1e-7';
    const first = await completionOf(JSON.stringify([{ answer: '{"f": 1}, {"g": 2}', choices }]));
    const replayed = await completionOf(JSON.stringify(recordingEntries(recorder.take())));
    expect(replayed.choices).toEqual([
      { start: 0, end: 7, probability: 0.5999999 },
      { start: 10, end: 12, probability: 1e-7 },
    ]);
    expect(replayed).toMatchObject({ text: first.text, choices: first.choices });
  });

  it('match their message only, whatever its characters', () => {
    const messages = ['a.b*c (x) "q"', 'line\nline', '$5^2 \\d', '', '[é] 🙂', 'a.b*c (x) "q" and more'];
    const entries = recordingEntries(messages.map((message) => inference({ message, answer: { answer: message } })));
    const script = readMockScript(JSON.stringify(entries), 'r.json');
    for (const message of messages)
      expect(findReply(script, { message, node: 'answer', inference: 1 }).answer).toBe(message);
    expect(findReply(script, { message: 'axb*c (x) "q"', node: 'answer', inference: 1 }).answer).toMatch(/^You said/);
  });

  it('are shared by equal inferences, in the order in which they came', () => {
    const again = inference({ case: 'two', turn: 3 });
    expect(recordingEntries([inference({}), again, inference({ node: 'detect', inference: 2 })])).toEqual([
      { match: '^yes$', node: 'answer', nth: 1, answer: 'Fine.' },
      { match: '^yes$', node: 'detect', nth: 2, answer: 'Fine.' },
    ]);
  });

  it('name their case and turn where the same message has several answers', () => {
    const entries = recordingEntries([
      inference({}),
      inference({ turn: 2, answer: { answer: 'Again?' } }),
      inference({ case: 'two', answer: { answer: 'Sent.' } }),
    ]);
    expect(entries.map(({ case: name, turn, answer }) => [name, turn, answer])).toEqual([
      ['one', 1, 'Fine.'],
      ['one', 2, 'Again?'],
      ['two', 1, 'Sent.'],
    ]);
    const script = readMockScript(JSON.stringify(entries), 'r.json');
    const request = { message: 'yes', node: 'answer', inference: 1 };
    expect(findReply(script, { ...request, case: 'two', turn: 1 }).answer).toBe('Sent.');
    expect(findReply(script, { ...request, case: 'one', turn: 2 }).answer).toBe('Again?');
    // Outside of a test it is not known which of them is meant.
    expect(findReply(script, request).answer).toBe('You said: yes');
  });

  it('are told from a script that a person has written', () => {
    expect(isRecording(recordingEntries([inference({})]))).toBe(true);
    expect(isRecording([{ match: 'ale', node: 'act', answer: 'x' }])).toBe(false);
    expect(isRecording({})).toBe(false);
  });
});
