import { describe, expect, it } from 'vitest';
import {
  addNode,
  duplicateNode,
  insertEntry,
  removeNode,
  renameExit,
  renameNode,
  setValue,
  swapEntries,
  uniqueName,
} from '../../../playground/src/document/graphEdits.ts';

const text = `{
  "start_node": "guard",
  "nodes": {
    "guard":  { "type": "Guardrail", "exits": { "triggered": "no", "not_triggered": "answer" } },
    "no":     { "type": "CannedResponse", "params": { "inline_strings": ["No.",   "Never."] } },
    "answer": { "type": "Generate", "params": { "system_prompt": "Be brief." } }
  }
}
`;
const read = (result: string) => JSON.parse(result) as { start_node: string; nodes: Record<string, object> };

describe('an edit of a graph file', () => {
  it('changes a value and leaves the rest of the text as it is', () => {
    const path = ['nodes', 'answer', 'params', 'system_prompt'];
    expect(setValue(text, path, 'Be kind.')).toBe(text.replace('Be brief.', 'Be kind.'));
  });

  it('adds what contains the value, in the usual order of members', () => {
    const { nodes } = read(setValue(text, ['nodes', 'guard', 'params', 'watch'], 'answer'));
    expect(Object.keys(nodes['guard'] ?? {})).toEqual(['type', 'params', 'exits']);
  });

  it('removes a value, and what is empty then', () => {
    const { nodes } = read(setValue(text, ['nodes', 'answer', 'params', 'system_prompt'], undefined));
    expect(nodes['answer']).toEqual({ type: 'Generate' });
  });

  it('keeps an entry of a list that becomes empty', () => {
    const list = '{"nodes": {"a": {"params": {"tools": [{"name": "x"}]}}}}';
    const result = setValue(list, ['nodes', 'a', 'params', 'tools', 0, 'name'], undefined);
    expect(read(result).nodes['a']).toEqual({ params: { tools: [{}] } });
  });

  it('changes nothing where a value to remove does not exist', () => {
    expect(setValue(text, ['nodes', 'answer', 'exits', 'default'], undefined)).toBe(text);
  });

  it('inserts entries into a list, or makes the list', () => {
    const list = ['nodes', 'no', 'params', 'inline_strings'];
    const inserted = insertEntry(text, list, 1, 'Not now.');
    expect(read(inserted).nodes['no']).toMatchObject({ params: { inline_strings: ['No.', 'Not now.', 'Never.'] } });
    const made = insertEntry(text, ['nodes', 'guard', 'params', 'inline_strings'], 0, 'x');
    expect(read(made).nodes['guard']).toMatchObject({ params: { inline_strings: ['x'] } });
  });

  it('exchanges two entries and keeps the text between them', () => {
    const swapped = swapEntries(text, ['nodes', 'no', 'params', 'inline_strings'], 1, 0);
    expect(swapped).toContain('["Never.",   "No."]');
  });
});

describe('a node of a graph file', () => {
  it('is renamed with all exits and the start that name it, and nothing else', () => {
    expect(renameNode(text, 'answer', 'reply')).toBe(text.replaceAll('"answer"', '"reply"'));
    expect(read(renameNode(text, 'guard', 'a "b"')).start_node).toBe('a "b"');
  });

  it('is removed with the exits that lead to it', () => {
    const { nodes } = read(removeNode(text, 'no'));
    expect(Object.keys(nodes)).toEqual(['guard', 'answer']);
    expect(nodes['guard']).toEqual({ type: 'Guardrail', exits: { not_triggered: 'answer' } });
  });

  it('that is the start hands the start on when it is removed', () => {
    expect(read(removeNode(text, 'guard')).start_node).toBe('no');
  });

  it('becomes the start of a graph without one', () => {
    expect(read(addNode('{}', 'first', { type: 'Generate' }))).toEqual({
      start_node: 'first',
      nodes: { first: { type: 'Generate' } },
    });
    expect(read(addNode(text, 'more', { type: 'Generate' })).start_node).toBe('guard');
  });

  it('is copied under another name', () => {
    const { nodes } = read(duplicateNode(text, 'guard', 'guard_2'));
    expect(nodes['guard_2']).toEqual(nodes['guard']);
  });

  it.each([
    ['the base where it is free', 'a', ['b'], 'a'],
    ['a number behind it otherwise', 'a', ['a', 'a_2'], 'a_3'],
  ])('gets as a new name %s', (_, base, taken, name) => {
    expect(uniqueName(base, taken)).toBe(name);
  });
});

describe('an exit of a node', () => {
  it.each([
    ['is renamed', 'triggered', 'hit', { hit: 'no', not_triggered: 'answer' }],
    ['is removed', 'triggered', undefined, { not_triggered: 'answer' }],
    ['keeps its name where another has the new one', 'triggered', 'not_triggered', undefined],
    ['that does not exist changes nothing', 'other', 'hit', undefined],
  ])('%s', (_, from, to, exits) => {
    const before = read(text).nodes['guard'];
    expect(read(renameExit(text, 'guard', from, to)).nodes['guard']).toEqual(exits ? { ...before, exits } : before);
  });
});
