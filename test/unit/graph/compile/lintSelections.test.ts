import { describe, expect, it } from 'vitest';
import { type AnalysedNode, lintGraph, lintSelections } from '../../../../src/graph/compile/analysis.ts';
import type { NodeEffects } from '../../../../src/graph/compile/node.ts';

const any = { type: 'Any', unusedExits: [], canHold: false };

/** The warnings of a graph: its first node is the start, and its exit x leads to the next. */
function warningsOf(...effectsOfNodes: readonly (NodeEffects | undefined)[]): readonly string[] {
  const nodes = effectsOfNodes.map((effects, index) => {
    const isLast = index === effectsOfNodes.length - 1;
    const targets = new Map(isLast ? [] : [['x', `n${index + 1}`]]);
    return [`n${index}`, { ...any, name: `n${index}`, exits: ['x'], targets, effects } satisfies AnalysedNode] as const;
  });
  return [...lintGraph('n0', new Map(nodes))];
}

const selects: NodeEffects = { silentExits: [], selects: true };
const needs: NodeEffects = { silentExits: [], needsSelection: true };
const plain: NodeEffects = { silentExits: [] };

describe('a node that offers only selected tools', () => {
  const warning =
    'offers only selected tools, and no node that selects any leads to it: it never offers one; let a SelectTools lead to it, or set n0.params.tools_from to "node"';

  it('is a warning where no node that selects leads to it', () => {
    expect(warningsOf(needs)).toEqual([`n0 ${warning}`]);
    expect(warningsOf(needs, selects)).toContain(`n0 ${warning}`);
    expect(warningsOf(plain, needs)).toEqual([`n1 ${warning.replace('n0', 'n1')}`]);
  });

  it.each<[string, readonly (NodeEffects | undefined)[]]>([
    ['a node that selects leads to it', [selects, needs]],
    ['one does so by way of other nodes', [selects, plain, needs]],
    ['one does that may select, for all that is known', [undefined, needs]],
  ])('is none where %s', (_, effectsOfNodes) => {
    expect(warningsOf(...effectsOfNodes)).toEqual([]);
  });
});

describe('a tool of a node that offers only selected tools', () => {
  const some: NodeEffects = { silentExits: [], selects: ['jump'] };
  const needsBoth: NodeEffects = { silentExits: [], needsSelection: ['jump', 'run'] };

  it('is a warning where no node selects it', () => {
    expect(warningsOf(some, needsBoth)).toEqual([
      'n1 offers only selected tools, and no node selects "run": it is never offered; name it in a guideline',
    ]);
  });

  it.each<[string, readonly (NodeEffects | undefined)[]]>([
    ['another node selects it', [some, { silentExits: [], selects: ['run'] }, needsBoth]],
    ['a node does not say what it selects', [some, selects, needsBoth]],
    ['a node may select it, for all that is known', [some, undefined, needsBoth]],
  ])('is none where %s', (_, effectsOfNodes) => {
    expect(warningsOf(...effectsOfNodes)).toEqual([]);
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
    const nodes = Array.from({ length: count }, (_, index): [string, AnalysedNode] => {
      const targets = targetsOf(index);
      const node: AnalysedNode = {
        ...any,
        name: `n${index}`,
        exits,
        effects: index === 0 ? selects : needs,
        get targets() {
          reads++;
          return targets;
        },
      };
      return [`n${index}`, node];
    });
    expect([...lintSelections(new Set(nodes.map(([name]) => name)), new Map(nodes))]).toEqual([]);
    expect(reads).toBeLessThan(count * 10);
  });
});
