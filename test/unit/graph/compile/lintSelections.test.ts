import { describe, expect, it } from 'vitest';
import type { NodeEdges } from '../../../../src/graph/compile/edges.ts';
import { lintGraph } from '../../../../src/graph/compile/lint.ts';
import { lintSelections } from '../../../../src/graph/compile/lintSelections.ts';
import type { NodeOutput } from '../../../../src/graph/compile/node.ts';

/** The warnings of a graph: its first node is the start, and its exit x leads to the next. */
function warningsOf(...outputs: readonly (NodeOutput | undefined)[]): readonly string[] {
  const nodes = outputs.map((output, index) => {
    const isLast = index === outputs.length - 1;
    const targets = new Map(isLast ? [] : [['x', `n${index + 1}`]]);
    return [`n${index}`, { type: 'Any', exits: ['x'], targets, output, canHold: false } satisfies NodeEdges] as const;
  });
  return [...lintGraph('n0', new Map(nodes))];
}

const selects: NodeOutput = { silentExits: [], selects: true };
const needs: NodeOutput = { silentExits: [], needsSelection: true };
const plain: NodeOutput = { silentExits: [] };

describe('a node that offers only selected tools', () => {
  const warning =
    'offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set n0.params.tools_from to "node"';

  it('is a warning where no node that selects leads to it', () => {
    expect(warningsOf(needs)).toEqual([`n0 ${warning}`]);
    expect(warningsOf(needs, selects)).toContain(`n0 ${warning}`);
    expect(warningsOf(plain, needs)).toEqual([`n1 ${warning.replace('n0', 'n1')}`]);
  });

  it.each<[string, readonly (NodeOutput | undefined)[]]>([
    ['a node that selects leads to it', [selects, needs]],
    ['one does so by way of other nodes', [selects, plain, needs]],
    ['one does that may select, for all that is known', [undefined, needs]],
  ])('is none where %s', (_, outputs) => {
    expect(warningsOf(...outputs)).toEqual([]);
  });
});

describe('a tool of a node that offers only selected tools', () => {
  const some: NodeOutput = { silentExits: [], selects: ['jump'] };
  const needsBoth: NodeOutput = { silentExits: [], needsSelection: ['jump', 'run'] };

  it('is a warning where no node selects it', () => {
    expect(warningsOf(some, needsBoth)).toEqual([
      'n1 offers only selected tools, and no node selects "run": it is never offered; name it in a guideline',
    ]);
  });

  it.each<[string, readonly (NodeOutput | undefined)[]]>([
    ['another node selects it', [some, { silentExits: [], selects: ['run'] }, needsBoth]],
    ['a node does not say what it selects', [some, selects, needsBoth]],
    ['a node may select it, for all that is known', [some, undefined, needsBoth]],
  ])('is none where %s', (_, outputs) => {
    expect(warningsOf(...outputs)).toEqual([]);
  });
});

describe('a node that selects tools', () => {
  const warning =
    'n0 selects tools, and no node after it offers only these; set "tools_from": "selection" in a ToolCall after it';

  it('is a warning where no node uses its selection', () => {
    expect(warningsOf(selects)).toEqual([warning]);
    expect(warningsOf(selects, plain)).toEqual([warning]);
  });

  it('is none where a node may use it, for all that is known', () => {
    expect(warningsOf(selects, undefined)).toEqual([]);
  });
});

describe('a graph with many nodes and edges', () => {
  it('is searched for selections once, not once for each node', () => {
    let reads = 0;
    const count = 200;
    const exits = Array.from({ length: 60 }, (_, index) => `${index}`);
    const targetsOf = (from: number): ReadonlyMap<string, string> =>
      new Map(exits.map((exit, index) => [exit, `n${(from + 1 + index * 3) % count}`]));
    const nodes = Array.from({ length: count }, (_, index): [string, NodeEdges] => {
      const targets = targetsOf(index);
      const edges: NodeEdges = {
        type: 'Any',
        exits,
        output: index === 0 ? selects : needs,
        canHold: false,
        get targets() {
          reads++;
          return targets;
        },
      };
      return [`n${index}`, edges];
    });
    expect([...lintSelections(new Set(nodes.map(([name]) => name)), new Map(nodes))]).toEqual([]);
    expect(reads).toBeLessThan(count * 10);
  });
});
