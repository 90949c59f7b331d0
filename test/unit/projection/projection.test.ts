import { beforeEach, describe, expect, it } from 'vitest';
import type { Interaction, Prompt, ToolBlock } from '../../../src/dialog.ts';
import { insertTools } from '../../../src/dialog.ts';
import type { Model } from '../../../src/engine/engine.ts';
import { chatProjection } from '../../../src/projection/chat.ts';
import { placeTemplate, placements } from '../../../src/projection/placement.ts';
import type { Projection } from '../../../src/projection/projection.ts';
import { toolProjection } from '../../../src/projection/withTools.ts';

/** A model that counts a token for each character, and none for the frame. */
const model = (contextSize: number): Model => ({
  contextSize,
  detectedFormat: undefined,
  notes: [],
  overhead: { prompt: 0, message: 0 },
  count: (texts) => Promise.resolve(texts.map(({ length }) => length)),
  countTools: ({ text }) => Promise.resolve(text.length),
  render: (prompt) => Promise.resolve(script(prompt)),
  openSequence: () => {
    throw new Error('nothing is generated here');
  },
  stats: () => {
    throw new Error('nothing runs here');
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

const block = (slot: ToolBlock['place']): ToolBlock => ({
  format: 'chatml',
  definitions: [],
  place: slot,
  text: 'TOOLS',
});

const talk = (count: number, words = 'xxxx'): Interaction[] =>
  Array.from({ length: count }, (_, index) => ({ user: `u${index}${words}`, assistant: `a${index}${words}` }));

const script = ({ messages }: Prompt): string => messages.map(({ role, text }) => `${role}: ${text}`).join('\n');

describe.each<[string, (model: Model) => Projection]>([
  ['the projection of a conversation', chatProjection],
  ['the projection with tools', (of) => toolProjection(of, block('system'))],
])('%s', (_, projectionFor) => {
  let projection: Projection;
  beforeEach(() => {
    projection = projectionFor(model(100));
  });
  const project = (interactions: readonly Interaction[], message = 'now', system = 'be kind') =>
    projection.project({ dialog: { interactions }, system, current: placeTemplate(message), maxTokens: 1000 });

  it('puts the system message first, then what was said, then the message', async () => {
    const { prompt, dropped } = await project([{ user: 'hello', assistant: 'hi' }]);
    expect(script(prompt)).toMatchInlineSnapshot(`
      "system: be kind
      user: hello
      assistant: hi
      user: now"
    `);
    expect(dropped).toBe(0);
  });

  it('has no system message when there is none', async () => {
    expect(script((await project([], 'now', '')).prompt)).toBe('user: now');
  });

  it('shows a cancelled answer as far as the user saw it, and no turn that failed before it said a word', async () => {
    const { prompt } = await project([
      { user: 'tell', assistant: 'Once up', mark: 'cancelled' },
      { user: 'much too long', assistant: '', mark: 'failed' },
      { user: 'silent', assistant: '' },
    ]);
    expect(script(prompt)).toBe('system: be kind\nuser: tell\nassistant: Once up\nuser: silent\nuser: now');
  });

  it('drops the oldest above the high mark, down to three quarters of it, and keeps them dropped', async () => {
    const all = talk(40, '');
    const seen: number[] = [];
    for (let turn = 0; turn < 40; turn++) seen.push((await project(all.slice(0, turn))).dropped);
    expect(seen.slice(0, 10)).toEqual(Array(10).fill(0));
    expect([...seen].sort((a, b) => a - b)).toEqual(seen);
    const cuts = seen.filter((dropped, turn) => turn > 0 && dropped > (seen[turn - 1] ?? 0)).length;
    expect(seen.at(-1)).toBeGreaterThan(3 * cuts);
  });

  it('begins anew when the dialog was cleared, however long it has become since', async () => {
    await project(talk(12));
    expect((await project(talk(3, 'new!'))).dropped).toBe(0);
  });

  it('refuses what is never cut when it does not fit, with the numbers', async () => {
    await expect(project([], 'x'.repeat(90))).rejects.toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message: expect.stringMatching(/9\d|10\d/),
    });
  });
});

describe('tools in a prompt', () => {
  const messages = placeTemplate('now');
  const history = [{ role: 'user', text: 'hello' } as const, { role: 'assistant', text: 'hi' } as const];

  it.each([
    [
      'at the end of the system message',
      'system',
      [{ role: 'system', text: 'be kind' }, ...history, ...messages],
      'be kind\n\nTOOLS|hello|hi|now',
    ],
    ['as the system message when there is none', 'system', [...history, ...messages], 'TOOLS|hello|hi|now'],
    ['before the first message of the user', 'first-user', [...history, ...messages], 'TOOLShello|hi|now'],
    ['before the last message of the user', 'last-user', [...history, ...messages], 'hello|hi|TOOLSnow'],
  ] as const)('stand %s', (_, where, all, expected) => {
    expect(
      insertTools({ messages: all, tools: block(where) })
        .map(({ text }) => text)
        .join('|'),
    ).toBe(expected);
  });
});

describe('a template', () => {
  it.each(placements.map((placement) => [placement] as const))('stands %s', (placement) => {
    const shown = placeTemplate('MESSAGE', { text: 'TEMPLATE', placement }).map(({ role, text }) => `${role} ${text}`);
    expect(shown).toEqual(
      {
        in_place_of_user: ['user TEMPLATE'],
        before_user_as_system: ['system TEMPLATE', 'user MESSAGE'],
        before_user_as_user: ['user TEMPLATE', 'user MESSAGE'],
        after_user_as_system: ['user MESSAGE', 'system TEMPLATE'],
        after_user_as_user: ['user MESSAGE', 'user TEMPLATE'],
      }[placement],
    );
  });

  it('that renders empty is left out', () => {
    expect(placeTemplate('MESSAGE', { text: '', placement: 'in_place_of_user' })).toEqual([
      { role: 'user', text: 'MESSAGE' },
    ]);
  });
});
