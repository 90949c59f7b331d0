// batch: tokens a second of 8 agents that talk at once / of 8 sequences that one bare context evaluates together (mid).
//
// All prompts are new in every round and of about 70 tokens; the rate is all tokens that are generated, over the time from
// the first message to the end of the last answer, prompts included, on both sides. That each answer is as long is checked.
import { heard, talk } from '../client.mjs';
import { figure, interleaved, medianOf } from '../results.mjs';
import { promptOf, story } from '../prompts.mjs';

const slots = 8;
const maxTokens = 48;

export const batch = {
  name: 'batch',
  async run(bench) {
    const file = await bench.file('mid');
    const server = await bench.server({ file, flags: { slots: slots } });
    const bare = await bench.bare({ file, sequences: slots });
    const client = await bench.client(server);
    const agents = await Promise.all(
      Array.from({ length: slots }, () => client.createAgent({ graph: talk(maxTokens) })),
    );
    const sides = {
      async server(round) {
        // Each round begins a conversation anew, as the bare sequences do.
        for (const agent of agents) await agent.clearDialog();
        const start = performance.now();
        const answers = await Promise.all(agents.map((agent, at) => heard(agent, message(round, at))));
        const end = performance.now() - start;
        return { generated: answers.reduce((sum, { turn }) => sum + turn.tokens.generated, 0), end };
      },
      bare: (round) => {
        const prompts = Array.from({ length: slots }, (_, at) => promptOf('', message(round, at)));
        return bare.ask('batch', { prompts, maxTokens });
      },
    };
    const rounds = await interleaved(sides, bench.repeats(7, 3));
    for (const { generated } of [...rounds.server, ...rounds.bare]) {
      if (generated !== slots * maxTokens) throw new Error(`${generated} tokens instead of ${slots * maxTokens}`);
    }
    const rate = ({ generated, end }) => (generated * 1000) / end;
    const [mine, theirs] = [medianOf(rounds.server, rate), medianOf(rounds.bare, rate)];
    return [
      figure({
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
