import { describe, expect, it } from 'vitest';
import { createRng } from '../../../../scripts/seededRandom.mjs';
import { checkGraph } from '../../../../src/server/checkGraph.ts';
import { auditDocument, type GraphAudit } from '../../../../src/cli/audit/audit.ts';
import type { AuditProperty, PropertyVerdict } from '../../../../src/cli/audit/guardProofs.ts';
import { graphSchema } from '../../../../src/graph/compile/document.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import { createReader } from '../../../../src/protocol/schema.ts';
import { isWhole } from '../../../helpers/depth.ts';
import {
  canGoOnForever,
  canRepeat,
  enumeratePaths,
  guardsOnPaths,
  nodesUntil,
  shortestEndlessLoop,
  type PathTurn,
} from '../../../helpers/pathEnumeration.ts';
import { randomGraph, type PlainGraph } from '../../../helpers/randomGraphs.ts';
import { repositoryPath } from '../../../helpers/server.ts';

const registry = registryWith();
const readGraph = createReader(graphSchema);
const storages = new SessionStorages(new StorageRoot(repositoryPath('examples/help-desk')), Infinity);

function audit(graph: PlainGraph): Promise<GraphAudit> {
  const reading = readGraph(graph);
  if (!reading.ok) throw new Error('no graph');
  return auditDocument(reading.value, registry, (name) => storages.find(name));
}

/** The number of nodes up to the one by which something happens on the path of a property; undefined: it is proven. */
const lengthOf = (graph: PlainGraph, verdict: PropertyVerdict, happens: (turn: PathTurn) => boolean) =>
  verdict.proven ? undefined : (nodesUntil(graph, verdict.path, happens) ?? 'it does not happen');

const graphs = isWhole ? 800 : 500;

describe('the audit of random graphs', () => {
  const random = createRng(20_261_124);
  const documents = Array.from({ length: graphs }, () => randomGraph(random));
  const auditing = Promise.all(documents.map(async (graph) => ({ graph, audit: await audit(graph) })));

  it('is of graphs that the server accepts', async () => {
    const catalogue = await readCatalogue(repositoryPath('models.json'));
    for (const graph of documents.slice(0, 100)) {
      const { faults } = await checkGraph(graph, {
        registry,
        catalogue,
        storageRoot: repositoryPath('examples/help-desk'),
      });
      expect({ graph, faults }).toEqual({ graph, faults: [] });
    }
  });

  it.each<[AuditProperty, RegExp]>([
    ['message', /^every path/],
    ['answer', /^every text/],
    ['bounded', /^every loop/],
    ['reachable', /^all \d+ nodes/],
  ])('proves and refutes %s often, not only where there is nothing to prove', async (name, reason) => {
    const verdicts = (await auditing).map((each) => each.audit.properties[name]);
    const refuted = verdicts.filter(({ proven }) => !proven).length;
    const proven = verdicts.filter((verdict) => verdict.proven && reason.test(verdict.reason)).length;
    expect(refuted).toBeGreaterThan(graphs / 5);
    expect(proven).toBeGreaterThan(graphs / 20);
    expect(refuted).toBeLessThan((graphs * 4) / 5);
  });

  it('agrees with the enumeration of all paths, and each path that it gives is one of the shortest that show it', async () => {
    for (const each of await auditing) {
      const { graph } = each;
      const { message, answer, reachable } = each.audit.properties;
      const { shortestInference, shortestLeak, visited } = enumeratePaths(graph);
      const unvisited = Object.keys(graph.nodes).filter((name) => !visited.has(name));
      expect({
        graph,
        message: lengthOf(graph, message, ({ hasInferred }) => hasInferred),
        answer: lengthOf(graph, answer, ({ hasLeaked }) => hasLeaked),
        unreachable: reachable.proven ? [] : reachable.nodes,
      }).toEqual({ graph, message: shortestInference, answer: shortestLeak, unreachable: unvisited });
    }
  });

  it('agrees with turns that count their rounds on which loops end, and its paths can go round a hundred times', async () => {
    for (const each of await auditing) {
      const { graph } = each;
      const { bounded } = each.audit.properties;
      const steps = bounded.proven ? undefined : bounded.path.length - 1;
      expect({ graph, proven: bounded.proven, steps }).toEqual({
        graph,
        proven: !canGoOnForever(graph),
        steps: shortestEndlessLoop(graph),
      });
      if (!bounded.proven) expect({ graph, can: canRepeat(graph, bounded.path, 100) }).toEqual({ graph, can: true });
    }
  });

  it('agrees with the enumeration of all paths on the Guardrails before each model', async () => {
    for (const each of await auditing) {
      const { graph } = each;
      for (const { node, guards, passes } of each.audit.models) {
        const paths = guardsOnPaths(graph, node);
        const onAll = Object.keys(graph.nodes).filter((name) => paths.every((passed) => passed.includes(name)));
        const first = new Set(paths.map(([guard]) => guard));
        const expected =
          onAll.length > 0 || first.has(undefined)
            ? { names: onAll, passes: 'all' }
            : { names: Object.keys(graph.nodes).filter((name) => first.has(name)), passes: 'one' };
        expect({ graph, node, names: guards.map((guard) => guard.node), passes }).toEqual({ graph, node, ...expected });
      }
    }
  });
});
