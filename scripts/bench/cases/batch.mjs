// batch: tokens per second of 8 concurrent agents / of 8 sequences of one baseline context (model mid).
//
// All prompts are new in every round, of about 70 tokens; the rate is all generated tokens over the time from the first
// message to the end of the last answer, prefill included, on both sides. All answers must have the same length.
import { timeTurn, generateGraph, totalRate } from '../client.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { chatmlPrompt, story } from '../prompts.mjs';

/** Agents that answer at the same time. */
export const slots = 8;
const maxTokens = 48;

export const batch = {
  name: 'batch',
  async run(bench) {
    const file = await bench.file('mid');
    const server = await bench.server({ file, flags: { slots } });
    const baseline = await bench.baseline({ file, sequences: slots });
    const client = await bench.client(server);
    const sides = {
      server: await openBatchSide(client),
      baseline: (round) => {
        const prompts = Array.from({ length: slots }, (_, at) => chatmlPrompt('', message(round, at)));
        return baseline.run('batch', { prompts, maxTokens });
      },
    };
    const rounds = await measureInterleaved(sides, bench.repeats(7, 3));
    const [mine, theirs] = [batchRate(rounds.server), batchRate(rounds.baseline)];
    return [
      createResult({
        name: 'batch',
        of: 'mid, 8 at once',
        ratio: mine / theirs,
        goal: 0.95,
        better: 'higher',
        tokensPerSecond: mine,
        bareTokensPerSecond: theirs,
        threads: bench.threads,
      }),
    ];
  },
};

/** The side of a server: takes a round, returns the tokens of all agents and the time until the last one has ended. */
export async function openBatchSide(client) {
  const agents = await Promise.all(
    Array.from({ length: slots }, () => client.createAgent({ graph: generateGraph(maxTokens) })),
  );
  return async (round) => {
    // Each round begins a new dialog, as the baseline's sequences do.
    for (const agent of agents) await agent.clearDialog();
    const start = performance.now();
    const answers = await Promise.all(agents.map((agent, at) => timeTurn(agent, message(round, at))));
    const end = performance.now() - start;
    return { generated: answers.reduce((sum, { turn }) => sum + turn.tokens.generated, 0), end };
  };
}

/** The median of the tokens per second of all rounds. @throws Error when an answer ended early. */
export function batchRate(rounds) {
  for (const { generated } of rounds) {
    if (generated !== slots * maxTokens) throw new Error(`${generated} tokens instead of ${slots * maxTokens}`);
  }
  return medianOf(rounds, totalRate);
}

const message = (round, at) => story(1000 + 100 * round + at, 20);
