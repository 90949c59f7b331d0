import { describe, expect, it } from 'vitest';
import { locatingFaults } from '../../../../src/cli/graphTests/caseSession.ts';
import type { JsonFile } from '../../../../src/cli/findGraph.ts';
import { Fault } from '../../../../src/protocol/fault.ts';

const graph: JsonFile = {
  path: 'lamp.json',
  text: '{}',
  syntaxError: undefined,
  positionOf: (pointer) => `lamp.json:1:${pointer.length}`,
};
const run = (fault: Fault): Promise<void> => locatingFaults(graph, () => Promise.reject(fault));

describe('locatingFaults', () => {
  it('tells each fault of a graph with its place', async () => {
    const faults = ['/nodes/a', '/nodes/ab'].map((pointer) => ({
      code: 'GRAPH_COMPILATION_FAILED',
      pointer,
      message: 'x',
    }));
    const fault = new Fault('GRAPH_COMPILATION_FAILED', 'x', { detail: JSON.stringify(faults) });
    await expect(run(fault)).rejects.toThrow(/^lamp\.json:1:8: x\nlamp\.json:1:9: x$/);
  });

  it('tells a fault whose detail is a text of an extension', async () => {
    const fault = new Fault('INFERENCE_FAILED', 'the oven is cold', { detail: 'no JSON' });
    await expect(run(fault)).rejects.toThrow(/^lamp\.json: INFERENCE_FAILED \(\d+\): the oven is cold$/);
  });
});
