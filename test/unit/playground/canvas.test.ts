import { describe, expect, it } from 'vitest';
import { drawLimits, drawProblem } from '../../../playground/src/canvas/drawLimits.ts';
import { flowEdges, flowNodes } from '../../../playground/src/canvas/flowElements.ts';
import { flowId, nameOfFlowId } from '../../../playground/src/canvas/flowId.ts';
import { viewGraph } from '../../../playground/src/canvas/graphView.ts';
import {
  crossings,
  freePlace,
  layoutGraph,
  neighbour,
  nodeHeight,
  nodeWidth,
} from '../../../playground/src/canvas/layout.ts';
import { summarizeNode } from '../../../playground/src/canvas/nodeSummary.ts';
import { edgeId, emptyPath, exitOfEdge, turnPath } from '../../../playground/src/canvas/turnPath.ts';
import { parseGraph } from '../../../playground/src/document/graphDocument.ts';
import { noTypes } from '../../../playground/src/document/graphTypes.ts';
import { shareUnchanged } from '../../../playground/src/document/shareUnchanged.ts';

const document = {
  start_node: 'guard',
  nodes: {
    guard: { type: 'Guardrail', exits: { triggered: 'no', not_triggered: 'answer' } },
    no: { type: 'CannedResponse' },
    answer: { type: 'Generate', exits: { default: 'gone' } },
    alone: { type: 'Generate', exits: { default: '' } },
  },
};
const graphOf = (value: object) => parseGraph(JSON.stringify(value)).graph ?? { start_node: '', nodes: {} };
const graph = graphOf(document);
const view = (path = emptyPath) => viewGraph({ graph, types: noTypes, faults: [], path });
const visit = (node: string, exit?: string) => ({
  node,
  startedAt: 0,
  endedAt: exit === undefined ? undefined : 1,
  exit,
  durationMs: undefined,
  waits: [],
  inferences: [],
});

describe('the view of a graph', () => {
  it('says of each node whether it is the start, and reachable', () => {
    const nodes = view().map(({ name, isStart, isReachable }) => [name, isStart, isReachable]);
    expect(nodes).toEqual([
      ['guard', true, true],
      ['no', false, true],
      ['answer', false, true],
      ['alone', false, false],
    ]);
  });

  it('says of each exit where it leads', () => {
    const exits = view().flatMap(({ exits: list }) => list.map(({ name, leadsTo }) => [name, leadsTo]));
    expect(exits).toEqual([
      ['triggered', 'node'],
      ['not_triggered', 'node'],
      ['default', 'missing'],
      ['default', 'end'],
    ]);
  });

  it('has the faults of each node', () => {
    const fault = { pointer: '/nodes/answer/exits/default', message: 'x', severity: 'error' as const };
    const views = viewGraph({ graph, types: noTypes, faults: [fault], path: emptyPath });
    expect(views.filter(({ faults }) => faults.length > 0).map(({ name }) => name)).toEqual(['answer']);
  });
});

describe('names that JavaScript or a selector has a meaning for', () => {
  const names = ['constructor', 'toString', 'hasOwnProperty', '__proto__', 'say "hi"', 'back\\slash', '100%', ''];
  const nodes = `{${names.map((name, at) => `${JSON.stringify(name)}: {"exits": {"on": ${JSON.stringify(names[at + 1] ?? 'last')}}}`).join()}, "last": {}}`;
  const { graph: hostile = graph } = parseGraph(`{"start_node": "constructor", "nodes": ${nodes}}`);
  const views = viewGraph({ graph: hostile, types: noTypes, faults: [], path: emptyPath });

  it('are names of nodes, which are drawn, connected and laid out', () => {
    expect(views.map(({ name, isReachable }) => [name, isReachable])).toEqual(
      [...names, 'last'].map((name) => [name, name !== '' && name !== 'last']),
    );
    const positions = layoutGraph(views);
    expect(new Set([...positions.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(names.length + 1);
    const before = flowNodes([], views, positions, undefined);
    expect(flowNodes(before, views, positions, undefined)).toEqual(before);
    const ids = new Set(before.map(({ id }) => id));
    for (const { source, target } of flowEdges([], views, new Set())) {
      expect(ids).toContain(source);
      expect(ids).toContain(target);
    }
  });

  it.each(names)('are names of exits that the file does not have: %j', (name) => {
    const labels = { param: 'labels', member: 'name' };
    const route = { type: 'Route', summary: '', params: {}, exits: [], exitsFrom: labels, hasOpenExits: false };
    const types = { types: new Map([['Route', route]]), graph: {} };
    const { nodes: own } = graphOf({ nodes: { a: { type: 'Route', params: { labels: [{ name }] } } } });
    const [drawn] = viewGraph({ graph: { start_node: 'a', nodes: own }, types, faults: [], path: emptyPath });
    expect(drawn?.exits).toEqual([{ name, target: '', leadsTo: 'end' }]);
  });

  it.each(names)('are names of parameters in the summary of a node: %j', (name) => {
    const { nodes: own } = parseGraph(`{"nodes": {"a": {"params": {${JSON.stringify(name)}: ["x"]}}}}`).graph ?? graph;
    expect(summarizeNode(own['a'] ?? { type: '' })).toContain(': x');
  });

  it.each([...names, 'a\nb', '%22'])('have an id that no selector breaks at: %j', (name) => {
    expect(flowId(name)).not.toMatch(/["\\\n]/);
    expect(nameOfFlowId(flowId(name))).toBe(name);
  });
});

describe('the limits of the canvas', () => {
  const many = (nodes: number, exits: number) => {
    const own = Object.fromEntries(Array.from({ length: exits }, (_, index) => [`exit ${index}`, '']));
    return graphOf({ nodes: Object.fromEntries(Array.from({ length: nodes }, (_, index) => [index, { exits: own }])) });
  };

  it.each([
    ['the most nodes', drawLimits.nodes, 1, undefined],
    ['one node more', drawLimits.nodes + 1, 1, /^The graph has 401 nodes, /],
    ['the most exits', 2, drawLimits.exits / 2, undefined],
    ['one exit more', 1, drawLimits.exits + 1, /^The graph has 4001 exits, /],
    ['more exits than a call has arguments', 1, 140_000, /^The graph has 140000 exits, /],
  ])('are kept by %s', (_, nodes, exits, problem) => {
    const found = drawProblem(many(nodes, exits), noTypes);
    if (problem) expect(found).toMatch(problem);
    else expect(found).toBeUndefined();
  });
});

describe('the path of a turn', () => {
  it('has the nodes that ran and run, and the edges that were taken', () => {
    const path = turnPath([visit('guard', 'not_triggered'), visit('answer')], graph);
    expect([...path.nodes]).toEqual([
      ['guard', { run: 'done', visits: 1 }],
      ['answer', { run: 'running', visits: 1 }],
    ]);
    expect([...path.edges]).toEqual([edgeId('guard', 'not_triggered')]);
    expect(exitOfEdge(edgeId('guard', 'not_triggered'))).toEqual({ node: 'guard', exit: 'not_triggered' });
  });

  it('counts visits, and has no edge that the graph does not have any more', () => {
    const path = turnPath([visit('answer', 'default'), visit('answer', 'default')], graph);
    expect(path.nodes.get('answer')).toEqual({ run: 'done', visits: 2 });
    expect(path.edges.size).toBe(0);
  });
});

describe('the layout', () => {
  it('places all nodes, none on another, with the start before those it leads to', () => {
    const views = view();
    const places = [...layoutGraph(views)].map(([name, position]) => {
      const found = views.find((candidate) => candidate.name === name);
      return { name, ...position, height: found ? nodeHeight(found) : 0 };
    });
    expect(places).toHaveLength(4);
    for (const a of places)
      for (const b of places) {
        const isApart =
          a.name === b.name || Math.abs(a.x - b.x) >= nodeWidth || a.y + a.height <= b.y || b.y + b.height <= a.y;
        expect(isApart, `${a.name} and ${b.name}`).toBe(true);
      }
    const xOf = (name: string) => places.find((place) => place.name === name)?.x ?? 0;
    expect(xOf('guard')).toBeLessThan(xOf('answer'));
  });

  it('has no crossing where none is needed: the first exit leads to the upper node', () => {
    const fork = (exits: object) =>
      viewGraph({
        graph: graphOf({ start_node: 'a', nodes: { a: { exits }, no: {}, yes: { exits: { on: 'last' } }, last: {} } }),
        types: noTypes,
        faults: [],
        path: emptyPath,
      });
    for (const exits of [
      { x: 'no', y: 'yes' },
      { x: 'yes', y: 'no' },
    ]) {
      const views = fork(exits);
      const positions = layoutGraph(views);
      expect(crossings(views, positions)).toBe(0);
      expect(positions.get(exits.x)?.y).toBeLessThan(positions.get(exits.y)?.y ?? 0);
    }
    const crossed = new Map([
      ['a', { x: 0, y: 0 }],
      ['no', { x: 400, y: -100 }],
      ['yes', { x: 400, y: 100 }],
      ['last', { x: 800, y: 0 }],
    ]);
    expect(crossings(fork({ x: 'yes', y: 'no' }), crossed)).toBe(1);
  });

  it('finds a free place beside a node', () => {
    const views = view();
    const positions = layoutGraph(views);
    const place = freePlace(views, positions, 'guard');
    expect([...positions.values()]).not.toContainEqual(place);
    expect(freePlace([], new Map(), undefined)).toEqual({ x: 0, y: 0 });
  });

  it.each([
    ['ArrowRight', 'right'],
    ['ArrowLeft', undefined],
    ['ArrowDown', 'below'],
  ])('moves by %s to the nearest node', (key, expected) => {
    const positions = new Map([
      ['here', { x: 0, y: 0 }],
      ['right', { x: 300, y: 40 }],
      ['far', { x: 600, y: 0 }],
      ['below', { x: 20, y: 200 }],
    ]);
    expect(neighbour(positions, 'here', key)).toBe(expected);
  });
});

describe('the elements of the canvas', () => {
  it('are the same objects as before where nothing changed', () => {
    const positions = layoutGraph(view());
    const before = flowNodes([], view(), positions, undefined);
    const path = turnPath([visit('guard', 'not_triggered'), visit('answer')], graph);
    const after = flowNodes(before, view(path), positions, undefined);
    expect(after.map((node, index) => node === before[index])).toEqual([false, true, false, true]);
    const edges = flowEdges([], view(), new Set());
    expect(flowEdges(edges, view(), path.edges).map((edge, index) => edge === edges[index])).toEqual([true, false]);
  });

  it('have nodes of a parsed text that are shared with those of the text before', () => {
    const { answer: _, ...rest } = document.nodes;
    const next = shareUnchanged(graph, graphOf({ ...document, nodes: { ...rest, answer: { type: 'Route' } } }));
    expect(next.nodes['guard']).toBe(graph.nodes['guard']);
    expect(next.nodes['answer']).toMatchObject({ type: 'Route' });
  });
});

describe('the summary of a node', () => {
  it.each([
    ['its tools', { tools: [{ name: 'set_light' }, { function: { name: 'get' } }] }, '2 tools: set_light, get'],
    ['its strings', { inline_strings: ['No.'] }, '1 string: No.'],
    ['its model and prompt', { model_name: 'big', system_prompt: 'You\n are.' }, 'big · You are.'],
    ['what is switched on', { hold: true, stream: false }, 'hold'],
    ['its storage', { string_storage: 'a.txt' }, 'from a.txt'],
    ['nothing', {}, ''],
  ])('has %s', (_, params, expected) => {
    expect(summarizeNode({ type: 'x', params })).toBe(expected);
  });

  it('is short', () => {
    expect(summarizeNode({ type: 'x', params: { system_prompt: 'a'.repeat(500) } })).toHaveLength(80);
  });
});
