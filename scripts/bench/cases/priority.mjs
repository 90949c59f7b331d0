// priority: time to first token and tokens per second of an URGENT turn beside a BACKGROUND one / alone (model mid).
//
// The urgent turn has a prompt of about 500 tokens, of which nothing is in the KV cache, and an answer of 96. In each round it is
// measured alone, while the background turn answers (it has said its first word), and while the background turn evaluates a cold
// prompt of about 1,500 tokens: it was sent 300 to 500 milliseconds before, another time in each round, since the urgent turn may
// have to wait for the chunk that is being evaluated. The times are the client's. Then the background turn is awaited: it is
// checked that it ends with all its tokens, and did not end before the urgent one. The server runs with its defaults: an engine
// process, and threads of its own choice.
import { setTimeout as wait } from 'node:timers/promises';
import { decodeRate, generateGraph, timeTurn } from '../client.mjs';
import { storyOfTokens } from '../prompts.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { openVocabulary } from '../tokenizer.mjs';

const urgentTokens = { prompt: 500, answer: 96 };
const contextSize = 4096;
const backgrounds = {
  answers: { promptTokens: 20, maxTokens: 160, begin: (_, said) => said },
  reads: { promptTokens: 1500, maxTokens: 8, begin: (round) => wait(300 + ((round * 67) % 200)) },
};

export const priority = {
  name: 'priority',
  async run(bench) {
    const file = await bench.file('mid');
    const { count } = bench.closeAtEnd(await openVocabulary(file));
    const flags = { slots: 4, threads: undefined, 'engine-process': 'child' };
    const server = await bench.server({ file, contextSize, flags });
    const [player, other] = [await bench.client(server), await bench.client(server)];
    const urgent = await player.createAgent({ graph: generateGraph(urgentTokens.answer) });
    let told = 0;
    const speak = async () => {
      await urgent.clearDialog();
      const message = storyOfTokens(3000 + 101 * told++, urgentTokens.prompt, count);
      const { first, last, turn } = await timeTurn(urgent, message, { priority: 'URGENT' });
      if (turn.tokens.reused > 16) throw new Error(`${turn.tokens.reused} tokens of a cold prompt were reused`);
      return { first, rate: decodeRate({ first, last, generated: turn.tokens.generated }) };
    };
    const sides = { alone: speak };
    for (const [name, { promptTokens, maxTokens, begin }] of Object.entries(backgrounds)) {
      const agent = await other.createAgent({ graph: generateGraph(maxTokens) });
      sides[name] = async (round) => {
        bench.log(`round ${round}, the background ${name}`);
        await agent.clearDialog();
        const message = storyOfTokens(5000 + 101 * told++, promptTokens, count);
        let say;
        const said = new Promise((resolve) => (say = resolve));
        const start = performance.now();
        let isOver = false;
        const turn = agent.send(message, { priority: 'BACKGROUND', onText: say }).finally(() => (isOver = true));
        await Promise.race([begin(round, said), turn]);
        const measured = await speak();
        const overlapped = !isOver;
        const { tokens } = await turn;
        if (tokens.generated !== maxTokens) throw new Error(`${tokens.generated} tokens instead of ${maxTokens}`);
        if (!overlapped) throw new Error('the background turn ended before the urgent one');
        return { ...measured, backgroundMs: performance.now() - start };
      };
    }
    const rounds = await measureInterleaved(sides, bench.repeats(9, 3));
    return Object.keys(backgrounds).flatMap((name) => resultsOf(name, rounds));
  },
};

function resultsOf(name, rounds) {
  const [firstMs, aloneFirstMs] = [rounds[name], rounds.alone].map((side) => medianOf(side, ({ first }) => first));
  const [rate, aloneRate] = [rounds[name], rounds.alone].map((side) => medianOf(side, (one) => one.rate));
  const backgroundMs = medianOf(rounds[name], (one) => one.backgroundMs);
  const result = { name: 'priority', backgroundMs };
  return [
    createResult({
      ...result,
      of: `mid, first token, the background ${name}`,
      ratio: firstMs / aloneFirstMs,
      goal: 1.1,
      better: 'lower',
      ms: firstMs,
      aloneMs: aloneFirstMs,
    }),
    createResult({
      ...result,
      of: `mid, rate, the background ${name}`,
      ratio: rate / aloneRate,
      goal: 0.9,
      better: 'higher',
      tokensPerSecond: rate,
      alonePerSecond: aloneRate,
    }),
  ];
}
