// batch: tokens per second of 8 concurrent agents / of 8 sequences of one baseline context (model mid).
//
// All prompts are new in every round, of about 70 tokens; the rate is all generated tokens over the time from the first
// message to the end of the last answer, prefill included, on both sides. All answers must have the same length.
import { timeTurn, generateGraph } from '../client.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { chatmlPrompt, story } from '../prompts.mjs';

const slots = 8;
const maxTokens = 48;

export const batch = {
  name: 'batch',
  async run(bench) {
    const file = await bench.file('mid');
    const server = await bench.server({ file, flags: { slots } });
    const baseline = await bench.baseline({ file, sequences: slots });
    const client = await bench.client(server);
    const agents = await Promise.all(
      Array.from({ length: slots }, () => client.createAgent({ graph: generateGraph(maxTokens) })),
    );
    const sides = {
      async server(round) {
        // Each round begins a new dialog, as the baseline's sequences do.
        for (const agent of agents) await agent.clearDialog();
        const start = performance.now();
        const answers = await Promise.all(agents.map((agent, at) => timeTurn(agent, message(round, at))));
        const end = performance.now() - start;
        return { generated: answers.reduce((sum, { turn }) => sum + turn.tokens.generated, 0), end };
      },
      baseline: (round) => {
        const prompts = Array.from({ length: slots }, (_, at) => chatmlPrompt('', message(round, at)));
        return baseline.run('batch', { prompts, maxTokens });
      },
    };
    const rounds = await measureInterleaved(sides, bench.repeats(7, 3));
    for (const { generated } of [...rounds.server, ...rounds.baseline]) {
      if (generated !== slots * maxTokens) throw new Error(`${generated} tokens instead of ${slots * maxTokens}`);
    }
    const rate = ({ generated, end }) => (generated * 1000) / end;
    const [mine, theirs] = [medianOf(rounds.server, rate), medianOf(rounds.baseline, rate)];
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

const message = (round, at) => story(1000 + 100 * round + at, 20);
