import { afterAll, describe, expect, it } from 'vitest';
import { createRng, type Rng } from '../../../../scripts/seededRandom.mjs';
import { Agent, type TurnListener } from '../../../../src/graph/agent/agent.ts';
import { auditDocument, type GraphAudit } from '../../../../src/cli/audit/audit.ts';
import { defaultServerOptions } from '../../../../src/server/config.ts';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import type { MockScript } from '../../../../src/inference/mock/script.ts';
import type { ServerFrameBodies, TurnComplete } from '../../../../src/protocol/frames.gen.ts';
import { graphSchema } from '../../../../src/graph/compile/document.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../../../src/inference/models/pool/pool.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { createReader } from '../../../../src/protocol/schema.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';
import { SessionStorages } from '../../../../src/graph/storage/sessionStorages.ts';
import { randomGraph, type PlainGraph } from '../../../helpers/randomGraphs.ts';
import { result } from '../../../helpers/resultGraphs.ts';
import { repositoryPath } from '../../../helpers/server.ts';

// The audit only knows what node types declare of themselves. Here random graphs run, with a model that writes what it likes:
// whatever the client gets has to be what the audit has allowed.

const random = createRng(7);
const registry = registryWith();
const readGraph = createReader(graphSchema);

const call = (name: string, args: object): string =>
  `<tool_call>{"name": "${name}", "arguments": ${JSON.stringify(args)}}</tool_call>`;
const replies = [
  'MODEL says yes.',
  'MODEL says stop.',
  call('go', { place: 'MODEL' }),
  call('look', { place: 'MODEL', count: 'MODEL' }),
  call('look', {}),
  call('MODEL', { place: 'here' }),
  call('go', { place: 'MODEL again' }) + call('look', { place: 'MODEL' }),
];

/** A model that says anything, at random. */
const script: MockScript = [
  {
    matches: () => true,
    get reply() {
      return { answer: random.pick(replies), delay_ms: 0, chunk: 0 };
    },
    get scores() {
      return {
        scores: Object.fromEntries(['a', 'b', 'c', 'yes', 'no'].map((name) => [name, random.below(20) / 100])),
        delay_ms: 0,
      };
    },
  },
];

const catalogue = await readCatalogue(repositoryPath('models.json'));
const pool = new ModelPool(mockEngine({ script }), {
  catalogue,
  idleMs: 0,
  slots: 1,
  threads: 1,
  gpu: 'off',
  needsName: true,
});
const storages = new SessionStorages(new StorageRoot(repositoryPath('examples/help-desk')), Infinity);
afterAll(() => pool[Symbol.asyncDispose]());

const createAgent = (graph: PlainGraph): Promise<Agent> =>
  Agent.create({
    id: 1,
    graph,
    registry,
    pool,
    storages,
    defaultModelName: '',
    diagnostics: true,
    maxSteps: 200,
    history: [],
    limits: defaultServerOptions(),
    turnTimeoutMs: 60_000,
  });

/** One thing that a turn did, in order. `text` is the exit of a node that ran, what was said, or the tool that was called. */
interface Happening {
  readonly kind: 'inferred' | 'ran' | 'said' | 'called';
  readonly node: string;
  readonly text: string;
}

type Emit = TurnListener['emit'];
type FrameName = Parameters<Emit>[0];

const isFrame = <Name extends FrameName>(
  name: Name,
  body: FrameName,
  frame: object,
): frame is ServerFrameBodies[Name] & object => body === name && frame !== null;

async function runTurn(
  agent: Agent,
  message: string,
  choices: Rng,
): Promise<{ happened: readonly Happening[]; summary: TurnComplete }> {
  const happened: Happening[] = [];
  let summary: TurnComplete | undefined;
  const submit = (callId: string): void => agent.submitResults(0, [result({ callId, content: 'fine' })]);
  const see = (kind: Happening['kind'], { nodeName: node }: { readonly nodeName: string }, text: string): void =>
    void happened.push({ kind, node, text });
  const emit: Emit = (body, frame) => {
    if (isFrame('answerText', body, frame)) see('said', frame, frame.text);
    if (isFrame('nodeEvent', body, frame) && frame.eventType === 'inference') see('inferred', frame, '');
    if (isFrame('nodeEvent', body, frame) && frame.eventType === 'node_finished')
      see('ran', frame, (JSON.parse(frame.payloadJson) as { exit: string }).exit);
    if (!isFrame('toolCallNotification', body, frame)) return;
    see('called', frame, frame.toolName);
    if (frame.awaitsResult && choices.chance(0.7)) submit(frame.callId);
  };
  const onEnd: TurnListener['onEnd'] = (outcome) => (summary = outcome.summary);
  await agent.send(message, {}, { backpressure: () => undefined, onEnd, emit });
  if (!summary) throw new Error('the turn has no summary');
  return { happened, summary };
}

interface Guard {
  readonly watch: 'message' | 'answer';
}

/** The Guardrail that a node is when it is left by an exit; undefined: it lets every text pass, or none. */
function guardOf({ nodes }: PlainGraph, node: string, exit: string): Guard | undefined {
  const { type, params = {} } = nodes[node] ?? {};
  const { inline_strings: strings = [], watch = 'message' } = params as { inline_strings?: string[] } & Partial<Guard>;
  return type === 'Guardrail' && exit === 'not_triggered' && strings.length > 0 ? { watch } : undefined;
}

/** What a turn did that its audit rules out, and what it says is possible. */
function judge(
  graph: PlainGraph,
  audit: GraphAudit,
  happened: readonly Happening[],
): { ruledOut: string[]; possible: string[] } {
  const [ruledOut, possible]: [string[], string[]] = [[], []];
  const { message, answer, reachable } = audit.properties;
  const note = (property: { readonly proven: boolean }, what: string): void =>
    void (property.proven ? ruledOut : possible).push(what);
  let hasPassed = false;
  const passed = new Set<string>();
  for (const [index, each] of happened.entries()) {
    const { kind, node } = each;
    if (!reachable.proven && reachable.nodes.includes(node)) ruledOut.push(`${node} is not reachable`);
    if (kind === 'ran') {
      const guard = guardOf(graph, node, each.text);
      if (guard) passed.add(node);
      hasPassed ||= guard?.watch === 'message';
    }
    if (kind === 'inferred') {
      if (!hasPassed) note(message, 'inference');
      const model = audit.models.find((known) => known.node === node);
      if (!model) ruledOut.push(`${node} runs no model`);
      const missing = model?.guards.filter((guard) => !passed.has(guard.node)) ?? [];
      const count = model?.passes === 'one' ? model.guards.length - 1 : 0;
      if (missing.length > count) ruledOut.push(`${node} is behind a Guardrail`);
    }
    if (kind === 'called') {
      const tools = audit.tools.filter((tool) => tool.node === node).map(({ tool }) => tool?.name);
      const isDeclared = each.text === 'go' || each.text === 'look';
      if (!tools.includes(isDeclared ? each.text : undefined)) ruledOut.push(`${node} calls no ${each.text}`);
      possible.push(isDeclared ? 'call' : 'undeclared call');
    }
    if (kind !== 'said' || !each.text.includes('MODEL')) continue;
    const since = happened.slice(
      happened.slice(0, index).findLastIndex((one) => one.kind === 'inferred' && one.node === node) + 1,
      index,
    );
    const isChecked = since.some((one) => one.kind === 'ran' && guardOf(graph, one.node, one.text)?.watch === 'answer');
    if (isChecked && graph.nodes[node]?.type === 'Generate') possible.push('checked answer');
    else note(answer, graph.nodes[node]?.type === 'CannedResponse' ? 'line' : 'leak');
  }
  return { ruledOut, possible };
}

const graphs = 140;

describe(`turns of ${graphs} random graphs`, () => {
  it('do nothing that the audit of their graph rules out, and sometimes what it says they can', async () => {
    const seen = new Map<string, number>();
    const choices = createRng(11);
    for (let index = 0; index < graphs; index++) {
      const graph = randomGraph(choices);
      const reading = readGraph(graph);
      if (!reading.ok) throw new Error('no graph');
      const audit = await auditDocument(reading.value, registry, (name) => storages.find(name));
      const isBounded = audit.properties.bounded.proven;
      // A turn without end takes long, and one without a model says nothing.
      if (audit.models.length === 0 || (!isBounded && !choices.oneIn(4))) continue;
      await using agent = await createAgent(graph);
      for (const message of isBounded ? ['hello', 'a or b', 'stop', 'hello'] : ['hello']) {
        const { happened, summary } = await runTurn(agent, message, choices);
        const { ruledOut, possible } = judge(graph, audit, happened);
        const name = summary.error?.name ?? '';
        if (name === 'MAX_STEPS_EXCEEDED' && isBounded) ruledOut.push('a loop without end');
        expect({ graph, message, ruledOut, name }).toEqual({
          graph,
          message,
          ruledOut: [],
          name: name === 'MAX_STEPS_EXCEEDED' ? name : '',
        });
        if (name !== '') possible.push('endless loop');
        for (const what of new Set(possible)) seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    }
    for (const what of ['inference', 'leak', 'line', 'checked answer', 'call', 'undeclared call', 'endless loop'])
      expect({ what, often: (seen.get(what) ?? 0) > 1 }).toEqual({ what, often: true });
  });
});
