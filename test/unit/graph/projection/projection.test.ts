import { beforeEach, describe, expect, it } from 'vitest';
import type { Interaction, Prompt, ToolBlock } from '../../../../src/chat/dialog.ts';
import type { Model } from '../../../../src/inference/contract/engine.ts';
import {
  chatProjection,
  toolProjection,
  type Projection,
  placeTemplate,
  placements,
} from '../../../../src/graph/projection/projection.ts';
import { noDialect } from '../../../../src/chat/dialect/layout.ts';
import { defaultReplyMarks } from '../../../../src/chat/replyMarks.ts';

/** A model that counts one token per character, without overhead. */
const model = (contextSize: number): Model => ({
  contextSize,
  toolDialect: noDialect('there is no chat template'),
  canSpeculate: true,
  notes: [],
  replyMarks: defaultReplyMarks,
  overhead: { prompt: 0, message: 0 },
  count: (texts) => Promise.resolve(texts.map(({ length }) => length)),
  countTools: ({ text }) => Promise.resolve(text.length),
  render: (prompt) => Promise.resolve(toText(prompt)),
  openSequence: () => {
    throw new Error('nothing is generated here');
  },
  stats: () => {
    throw new Error('nothing runs here');
  },
  [Symbol.asyncDispose]: () => Promise.resolve(),
});

const toolBlock = (slot: ToolBlock['place']): ToolBlock => ({
  format: 'chatml',
  definitions: [],
  place: slot,
  text: 'TOOLS',
});

const createDialog = (count: number, filler = 'xxxx'): Interaction[] =>
  Array.from({ length: count }, (_, index) => ({ user: `u${index}${filler}`, assistant: `a${index}${filler}` }));

const toText = ({ messages }: Prompt): string => messages.map(({ role, text }) => `${role}: ${text}`).join('\n');

describe.each<[string, (model: Model) => Projection]>([
  ['the projection of a conversation', chatProjection],
  ['the projection with tools', (model) => toolProjection(model, toolBlock('system'))],
])('%s', (_, projectionFor) => {
  let projection: Projection;
  beforeEach(() => {
    projection = projectionFor(model(100));
  });
  const project = (interactions: readonly Interaction[], message = 'now', system = 'be kind') =>
    projection.project({ dialog: { interactions }, system, current: placeTemplate(message), maxTokens: 1000 });

  it('contains the system message, then the dialog, then the message', async () => {
    const { prompt, dropped } = await project([{ user: 'hello', assistant: 'hi' }]);
    expect(toText(prompt)).toMatchInlineSnapshot(`
      "system: be kind
      user: hello
      assistant: hi
      user: now"
    `);
    expect(dropped).toBe(0);
  });

  it('has no system message when there is none', async () => {
    expect(toText((await project([], 'now', '')).prompt)).toBe('user: now');
  });

  it('contains the sent part of a cancelled answer, and no turn without an answer', async () => {
    const { prompt } = await project([
      { user: 'tell', assistant: 'Once up', mark: 'cancelled' },
      { user: 'much too long', assistant: '', mark: 'failed' },
      { user: 'silent', assistant: '' },
    ]);
    expect(toText(prompt)).toBe('system: be kind\nuser: tell\nassistant: Once up\nuser: now');
  });

  it('drops the oldest interactions above the high-water mark, and keeps them dropped', async () => {
    const dialog = createDialog(40, '');
    const droppedCounts: number[] = [];
    for (let turn = 0; turn < 40; turn++) droppedCounts.push((await project(dialog.slice(0, turn))).dropped);
    expect(droppedCounts.slice(0, 10)).toEqual(Array(10).fill(0));
    expect([...droppedCounts].sort((a, b) => a - b)).toEqual(droppedCounts);
    const cuts = droppedCounts.filter((dropped, turn) => turn > 0 && dropped > (droppedCounts[turn - 1] ?? 0)).length;
    expect(droppedCounts.at(-1)).toBeGreaterThan(3 * cuts);
  });

  it('drops nothing of a new dialog after a clear', async () => {
    await project(createDialog(12));
    expect((await project(createDialog(3, 'new!'))).dropped).toBe(0);
  });

  it('rejects a message that does not fit, with the numbers', async () => {
    await expect(project([], 'x'.repeat(90))).rejects.toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message: expect.stringMatching(/9\d|10\d/),
    });
  });
});

describe('the placement of a template', () => {
  it.each(placements.map((placement) => [placement] as const))('can be %s', (placement) => {
    const rendered = placeTemplate('MESSAGE', { text: 'TEMPLATE', placement }).map(
      ({ role, text }) => `${role} ${text}`,
    );
    expect(rendered).toEqual(
      {
        in_place_of_user: ['user TEMPLATE'],
        before_user_as_system: ['system TEMPLATE', 'user MESSAGE'],
        before_user_as_user: ['user TEMPLATE', 'user MESSAGE'],
        after_user_as_system: ['user MESSAGE', 'system TEMPLATE'],
        after_user_as_user: ['user MESSAGE', 'user TEMPLATE'],
      }[placement],
    );
  });

  it('has no effect when the template renders to an empty text', () => {
    expect(placeTemplate('MESSAGE', { text: '', placement: 'in_place_of_user' })).toEqual([
      { role: 'user', text: 'MESSAGE' },
    ]);
  });
});
