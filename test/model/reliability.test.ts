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

// The trials of `npm run soak`, made short.

describe('the demo model over the wire', () => {
  const slots = 2;
  const crowded = useServer({ slots });
  const forgetful = useServer({ slots: 1, modelIdle: 0 });
  const traces: TokenTrace[] = [];
  const stageOf = (server: typeof crowded): ServerUnderTest => ({
    connect: (codec) => connect(server().url, { codec }),
    readTraces: () => traces.splice(0),
  });
  const [server, alone] = [stageOf(crowded), stageOf(forgetful)];
  let reader: TokenReader;
  let hangUp = (): void => {};
  beforeAll(async () => {
    reader = await openTokenReader(demoFile);
    hangUp = traceTokens(LlamaContextSequence.prototype, (record) => traces.push(record));
  });
  afterAll(async () => {
    hangUp();
    await reader.close();
  });

  it('keeps the secrets of agents apart that share slots, in every prompt and every answer', async () => {
    const { faults, figures } = await checkIsolation({ server, reader }, { model, agents: 6, count: 60, seed: 1 });
    expect(faults).toEqual([]);
    expect(figures.prompts).toBeGreaterThanOrEqual(60);
  });

  it('goes on after cancels at random moments as if they had been said elsewhere, and loses no slot', async () => {
    const parts = { server, reference: alone, reader, slots };
    const { faults, figures } = await cancelAtRandom(parts, { model, agents: 4, count: 60, seed: 1, words: 150 });
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ cancels: 60, slotsAtOnce: slots });
  });

  it('answers each of a crowd as it answers it alone, but for near-ties where several speak at once', async () => {
    const { faults, figures } = await oversubscribe({ server, alone, reader }, { model, agents: 12, atOnce: 6 });
    expect(faults).toEqual([]);
    expect(figures.oneAtATime).toMatchObject({ answers: 24, differ: 0 });
  });
});

describe('a model without flash attention', () => {
  it('gives the same probabilities in whatever pieces a prompt is read, so that trials can compare answers', async () => {
    const demo = await openDemo();
    const tokens = demo.weights.tokenize('apple '.repeat(250), true);
    const last = tokens.pop() ?? 0;
    const options = { temperature: 1, topK: 0, topP: 1, minP: 0 };
    const likelyAfter = async (piece: number): Promise<ReadonlyMap<Token, number>> => {
      const shape = { contextSize: 1024, batchSize: 256, threads: 1 };
      const context = await demo.weights.createContext({ ...shape, flashAttention: false });
      const sequence = context.getSequence();
      for (let at = 0; at < tokens.length; at += piece)
        await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, at + piece));
      const output = await sequence.controlledEvaluate([
        [last as Token, { generateNext: { probabilities: true, options } }],
      ]);
      await context.dispose();
      return output.at(-1)?.next.probabilities ?? new Map();
    };
    const [whole, small] = [await likelyAfter(256), await likelyAfter(63)];
    const moved = [...whole].map(([token, share]) => Math.abs(share - (small.get(token) ?? 1)));
    expect(moved.length).toBeGreaterThan(1000);
    expect(Math.max(...moved)).toBeLessThan(0.0005);
    await demo.close();
  });
});

describe('a state file', () => {
  it('tells the tokens that are in it, and nothing that is no state file does', async () => {
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
