import { describe, expect, it } from 'vitest';
import { membersOf, namedTools, parseGraph, toolsOf } from '../../../playground/src/document/graphDocument.ts';

describe('the text of a graph file', () => {
  it.each([
    ['with a comma too many', '{\n  "nodes": {},\n}', 'the text is no JSON: property name expected in line 3'],
    ['with a comment', '{} // x', 'the text is no JSON: invalid comment token in line 1'],
    ['of a list', '[]', 'the text is no JSON object'],
    ['without an end to its nesting', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'the text nests too deeply'],
    ['with more levels than a form can show', `${'['.repeat(501)}${']'.repeat(501)}`, 'the text nests too deeply'],
  ])('%s has a fault with its place', (_, text, message) => {
    const { graph, faults } = parseGraph(text);
    expect(graph).toBeUndefined();
    expect(faults[0]).toMatchObject({ message, severity: 'error', offset: expect.any(Number) });
  });

  it('may have as many levels as a form can show', () => {
    expect(parseGraph(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`).faults).toEqual([]);
  });

  it('has no members but those that are written in it', () => {
    const text = '{"__proto__": {"description": "inherited"}, "start_node": "a"}';
    expect(parseGraph(text).graph?.description).toBe('');
    expect(membersOf(text)['description']).toBeUndefined();
    expect(membersOf('{"start_node": "a", ')['start_node']).toBe('a');
    expect(membersOf('['.repeat(100_000))).toEqual({});
  });

  it('names the tools that a program would bring, each once', () => {
    const params = { tools: ['ring_bell', { name: 'wait', description: 'Wait.' }, 'open_door', 'no name', 7] };
    const guidelines = [{ name: 'door', patterns: ['door'], tools: ['open_door'] }];
    const nodes = {
      select: { type: 'SelectTools', params: { guidelines, tools: ['other'] } },
      act: { type: 'ToolCall', params },
      later: { type: 'ToolCall', params: { tools: ['open_door'] } },
      broken: { type: 'ToolCall', params: { tools: 'open_door' } },
    };
    expect(namedTools(JSON.stringify({ start_node: 'select', nodes }))).toEqual([
      { name: 'ring_bell', description: '' },
      { name: 'open_door', description: '' },
    ]);
    expect(namedTools('{')).toEqual([]);
    const ofOpenAi = { type: 'function', function: { name: 'sleep' } };
    const all = toolsOf({
      start_node: 'a',
      nodes: { a: { type: 'ToolCall', params: { tools: [...params.tools, ofOpenAi] } } },
    });
    expect(all.filter(({ isNamed }) => !isNamed).map(({ name }) => name)).toEqual(['wait', 'sleep']);
  });

  it('can be drawn although parts of it are missing or of another type', () => {
    const { graph, faults } = parseGraph('{"nodes": {"a": {"exits": {"x": 5, "y": "a"}}, "b": 7}, "start_node": []}');
    expect(faults).toEqual([]);
    expect(graph).toMatchObject({ start_node: '', nodes: { a: { type: '', params: {}, exits: { y: 'a' } } } });
  });
});
