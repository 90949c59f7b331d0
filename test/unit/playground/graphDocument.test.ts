import { describe, expect, it } from 'vitest';
import { parseGraph } from '../../../playground/src/document/graphDocument.ts';

describe('the text of a graph file', () => {
  it.each([
    ['with a comma too many', '{\n  "nodes": {},\n}', 'the text is no JSON: property name expected in line 3'],
    ['with a comment', '{} // x', 'the text is no JSON: invalid comment token in line 1'],
    ['of a list', '[]', 'the text is no JSON object'],
  ])('%s has a fault with its place', (_, text, message) => {
    const { graph, faults } = parseGraph(text);
    expect(graph).toBeUndefined();
    expect(faults[0]).toMatchObject({ message, severity: 'error', offset: expect.any(Number) });
  });

  it('can be drawn although parts of it are missing or of another type', () => {
    const { graph, faults } = parseGraph('{"nodes": {"a": {"exits": {"x": 5, "y": "a"}}, "b": 7}, "start_node": []}');
    expect(faults).toEqual([]);
    expect(graph).toMatchObject({ start_node: '', nodes: { a: { type: '', params: {}, exits: { y: 'a' } } } });
  });
});
