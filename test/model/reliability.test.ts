import { LlamaContextSequence, type Token } from 'node-llama-cpp';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cancelAtRandom } from '../../scripts/stress/cancellation.mjs';
import { oversubscribe } from '../../scripts/stress/oversubscription.mjs';
import { traceTokens, type TokenTrace } from '../../scripts/stress/traceTokens.mjs';
import { checkIsolation } from '../../scripts/stress/isolation.mjs';
import { openTokenReader, type TokenReader } from '../../scripts/stress/tokenReader.mjs';
import type { ServerUnderTest } from '../../scripts/stress/serverProcess.mjs';
import { readStateTokens } from '../../scripts/stress/stateFiles.mjs';
import { connect } from '../../src/client/index.ts';
import { useServer } from '../helpers/server.ts';
import { demoFile, openDemo } from './demo.ts';

const model = 'turngraph-demo';

// Short versions of the checks of `npm run soak`.

describe('the demo model over the wire', () => {
  const slots = 2;
  const sharedSlots = useServer({ slots });
  const unloadingServer = useServer({ slots: 1, modelIdle: 0 });
  const traces: TokenTrace[] = [];
  const toServerUnderTest = (server: typeof sharedSlots): ServerUnderTest => ({
    connect: (codec) => connect(server().url, { codec }),
    readTraces: () => traces.splice(0),
  });
  const [server, reference] = [toServerUnderTest(sharedSlots), toServerUnderTest(unloadingServer)];
  let reader: TokenReader;
  let stopTracing = (): void => {};
  beforeAll(async () => {
    reader = await openTokenReader(demoFile);
    stopTracing = traceTokens(LlamaContextSequence.prototype, (record) => traces.push(record));
  });
  afterAll(async () => {
    stopTracing();
    await reader.close();
  });

  it('never mixes the dialogs of agents that share slots', async () => {
    const { faults, figures } = await checkIsolation({ server, reader }, { model, agents: 5, count: 8, seed: 1 });
    expect(faults).toEqual([]);
    expect(figures.prompts).toBeGreaterThanOrEqual(8);
  });

  it('answers correctly after cancels at random times, and loses no slot', async () => {
    const parts = { server, reference, reader, slots };
    const { faults, figures } = await cancelAtRandom(parts, { model, agents: 4, count: 5, seed: 1, words: 150 });
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ cancels: 5, slotsAtOnce: slots });
  });

  it('answers many agents like a single one, apart from near-ties in concurrent batches', async () => {
    const { faults, figures } = await oversubscribe(
      { server, alone: reference, reader },
      { model, agents: 4, atOnce: 3 },
    );
    expect(faults).toEqual([]);
    expect(figures.oneAtATime).toMatchObject({ answers: 8, differ: 0 });
  });
});

describe('a model without flash attention', () => {
  it('computes the same probabilities for any prefill chunk size, so that checks can compare answers', async () => {
    const demo = await openDemo();
    const tokens = demo.weights.tokenize('apple '.repeat(250), true);
    const last = tokens.pop() ?? 0;
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
    const probabilitiesWith = async (chunkTokens: number): Promise<ReadonlyMap<Token, number>> => {
      const shape = { contextSize: 1024, batchSize: 256, threads: 1 };
      const context = await demo.weights.createContext({ ...shape, flashAttention: false });
      const sequence = context.getSequence();
      for (let start = 0; start < tokens.length; start += chunkTokens)
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(start, start + chunkTokens));
      const output = await sequence.controlledEvaluate([
        [last as Token, { generateNext: { probabilities: true, options } }],
      ]);
      await context.dispose();
      return output.at(-1)?.next.probabilities ?? new Map();
    };
    const [whole, small] = [await probabilitiesWith(256), await probabilitiesWith(63)];
    const differences = [...whole].map(([token, share]) => Math.abs(share - (small.get(token) ?? 1)));
    expect(differences.length).toBeGreaterThan(1000);
    expect(Math.max(...differences)).toBeLessThan(0.0005);
    await demo.close();
  });
});

describe('a state file', () => {
  it('contains its tokens, which are not read from other files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const demo = await openDemo();
    const context = await demo.weights.createContext({ contextSize: 256, threads: 1 });
    const tokens = demo.weights.tokenize('<|im_start|>user\nMy secret word is walrus.<|im_end|>', true);
    const sequence = context.getSequence();
    await sequence.evaluateWithoutGeneratingNewTokens(tokens);
    const [state, other] = [join(folder, 'state'), join(folder, 'other')];
    await sequence.saveStateToFile(state);
    await writeFile(other, 'My secret word is walrus.');
    expect(await readStateTokens(state)).toEqual(tokens);
    expect(await readStateTokens(other)).toBeUndefined();
    expect(await readStateTokens(join(folder, 'none'))).toBeUndefined();
    await demo.close();
    await rm(folder, { recursive: true });
  });
});
