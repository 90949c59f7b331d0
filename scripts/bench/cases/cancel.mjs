// cancel: 99th percentile of the time from CancelTurn to TurnComplete / time of one 256-token chunk + 20 ms (model mid).
//
// A thousand turns are cancelled at random moments (the same ones in every run): one in twenty has a new prompt of 1,500
// tokens and is cancelled during its prefill or shortly after it, the others a short one, cancelled at any time up to the end
// of the answer; turns that end before their cancel are repeated. Times are the client's. After every cancel the same agent
// has to answer its next message, with the cancelled one before it. The chunk is measured in the same run, between cancels,
// by the baseline, after 1,280 tokens, where the long prompts end. Takes about 10 minutes on 2 cores.
import { generateGraph } from '../client.mjs';
import { createResult, median, quantile } from '../results.mjs';
import { story } from '../prompts.mjs';
import { createRandom } from '../../seededRandom.mjs';

const maxTokens = 16;
const slackMs = 20;
const longEvery = 20;
const longWords = 505;

export const cancel = {
  name: 'cancel',
  async run(bench) {
    const file = await bench.file('mid');
    const client = await bench.client(await bench.server({ file, contextSize: 4096 }));
    const baseline = await bench.baseline({ file, contextSize: 4096 });
    const random = createRandom(7);
    const agent = await client.createAgent({ graph: generateGraph(maxTokens) });
    const total = bench.repeats(1000, 100);
    // Warm-up: the first chunk does not count.
    await timeChunk(baseline);
    const chunks = [];
    const spans = { long: await timeUncancelled(agent, longWords, 1), short: await timeUncancelled(agent, 20, 2) };
    const times = { long: [], short: [] };
    for (let count = 0; count < total; count++) {
      const kind = count % longEvery === 0 ? 'long' : 'short';
      if (count % Math.ceil(total / 20) === 0) chunks.push(await timeChunk(baseline));
      if (count % 50 === 0) bench.log(`${count} of ${total}`);
      await agent.clearDialog();
      times[kind].push(await timeCancel(agent, { kind, count, random, within: spans[kind].ms }));
      const next = await agent.send(story(count, 10));
      if (next.status !== 'SUCCESS' || next.tokens.generated !== maxTokens)
        throw new Error(`after cancel ${count}: ${next.status}, ${next.tokens.generated} tokens`);
    }
    const all = [...times.long, ...times.short];
    const chunk = median(chunks);
    return [
      createResult({
        name: 'cancel',
        of: `p99 of ${all.length}`,
        ratio: quantile(all, 0.99) / (chunk + slackMs),
        goal: 1,
        better: 'lower',
        p99Ms: quantile(all, 0.99),
        chunkMs: chunk,
        medianMs: median(all),
        worstMs: Math.max(...all),
        longMedianMs: median(times.long),
        longWorstMs: Math.max(...times.long),
        long: times.long.length,
        longTokens: spans.long.tokens,
      }),
    ];
  },
};

const timeChunk = async (baseline) => {
  const { ms } = await baseline.run('promptChunk', { text: story(5, longWords + 100), depth: 1280, size: 256 });
  return ms;
};

/** Milliseconds and prompt tokens of a turn without a cancel. */
async function timeUncancelled(agent, words, number) {
  await agent.clearDialog();
  const { durationMs, tokens } = await agent.send(story(50_000 + number, words));
  return { ms: durationMs, tokens: tokens.prompt };
}

async function timeCancel(agent, { kind, count, random, within }) {
  for (let attempt = 0; ; attempt++) {
    const turn = agent.send(story(1000 * attempt + 17 * count + 3, kind === 'long' ? longWords : 20));
    await new Promise((resolve) => setTimeout(resolve, random() * within));
    const start = performance.now();
    turn.cancel();
    const { status } = await turn;
    if (status === 'CANCELLED') return performance.now() - start;
    await agent.clearDialog();
  }
}
