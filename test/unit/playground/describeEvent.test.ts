import { describe, expect, it } from 'vitest';
import { describeEvent } from '../../../playground/src/conversation/describeEvent.ts';
import { parseGraph } from '../../../playground/src/document/graphDocument.ts';

const event = (eventType: string, payload: unknown) => ({
  nodeName: 'guard',
  eventType,
  mode: 'AUTO' as const,
  payload,
});

describe('an event on the page', () => {
  it.each([
    [
      'tool_insight',
      { tool: 'set_light', arguments: { on: true }, missing: [{ name: 'name', message: 'is required' }], invalid: [] },
      { sentence: 'The call set_light (on: true) is not sent.', lines: ['missing name: is required'], tone: 'warn' },
    ],
    [
      'call_unread',
      { text: '<tool_call>{', reason: 'it has no end' },
      { sentence: 'A call could not be read: it has no end.', text: '<tool_call>{', tone: 'warn' },
    ],
    [
      'call_repeated',
      { tool: 'find', arguments: {}, of: 'abc' },
      { sentence: 'The call find was answered before in this turn.' },
    ],
    [
      'already_known',
      { tool: 'find', arguments: { what: 'key' }, of: 'abc' },
      { sentence: 'The call find (what: key) is answered by a result of an earlier turn.' },
    ],
    [
      'tool_retry',
      { reason: 'no call', attempt: 2 },
      { sentence: 'The model is asked again, attempt 2: no call.', tone: 'warn' },
    ],
    [
      'route',
      { label: 'order', probabilities: { chat: 0.1, order: 0.9 } },
      {
        sentence: 'Route: order.',
        shares: [
          { name: 'order', share: 0.9 },
          { name: 'chat', share: 0.1 },
        ],
      },
    ],
    ['route', { label: '' }, { sentence: 'No label was chosen.' }],
    [
      'routed',
      { label: 'lamp', similarity: 0.914, margin: 0.3, nearest: 'light on' },
      { sentence: 'Route: lamp.', lines: ['nearest: light on', 'similarity 0.91, margin 0.30'] },
    ],
    ['guardrail_triggered', { index: 1 }, { sentence: 'The pattern \\brobot\\b matched.' }],
    ['guardrail_triggered', { index: 7 }, { sentence: 'Pattern 7 matched.' }],
    [
      'tools_selected',
      {
        guidelines: [{ name: 'light', probability: 0.93 }],
        not_matched: [{ name: 'heat', probability: 0.2 }],
        tools: [{ name: 'set_light', because: 'light' }],
        cut: ['dim'],
      },
      {
        sentence: 'Tools: set_light.',
        lines: ['guidelines that hold: light', 'guidelines that do not hold: heat', 'cut by max_tools: dim'],
        shares: [
          { name: 'light', share: 0.93 },
          { name: 'heat', share: 0.2 },
        ],
      },
    ],
    [
      'retrieved',
      { source: 'lore', query: 'Who is the smith?', found: true, hits: [{ id: 'smith', score: 7.654321 }] },
      { sentence: 'Found one entry, in knowledge_lore.', lines: ['query: Who is the smith?', 'smith: 7.654'] },
    ],
    [
      'retrieved',
      { source: 'lore', query: 'hi', found: false, hits: [] },
      { sentence: 'Found nothing that fits, in knowledge_lore.', lines: ['query: hi'] },
    ],
    ['reasoning', { text: 'Let me see.' }, { sentence: 'Reasoning', text: 'Let me see.' }],
    ['dice_rolled', { sides: 6, faces: [1, 2] }, { sentence: 'dice rolled', lines: ['sides: 6', 'faces: [1,2]'] }],
    ['dice_rolled', null, { sentence: 'dice rolled', lines: [] }],
  ])('%s %o is read as a sentence', (eventType, payload, described) => {
    const { graph } = parseGraph(
      JSON.stringify({ nodes: { guard: { type: 'Guardrail', params: { inline_strings: ['a', '\\brobot\\b'] } } } }),
    );
    expect(describeEvent(event(eventType, payload), graph)).toMatchObject(described);
  });
});
