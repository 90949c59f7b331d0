// cast: time until 40 characters have spoken, on 4 slots / 40 times that of a cold one.
//
// One graph serves all characters, and `turngraph warm` has evaluated it once: its system prompt is a common head of 1,000
// tokens, then a variable `character`, which the client sends with each message: 50 tokens that only this character has.
// The message has about 10 tokens, each answer 8. In each round a new server starts, with the filled prompt cache; 40 agents
// are created and all send at once. The time is the client's, from the first message to the end of the last turn. In the same
// round another server, without a prompt cache, answers a few cold ones, one at a time: their prompts have as many tokens, but
// differ from their first words on. 40 times their median is what a cast without anything in common would take. Without the
// prompt cache, which is only reported, what they have in common is reused from slot to slot. It is checked that each character
// of the filled cache reuses the common head, and that cold ones reuse nothing. Servers run with their defaults: an engine
// process, and threads of their own choice.
import { generateGraph, timeTurn } from '../client.mjs';
import { checkCold, checkReused, createCacheFolder, fillPromptCache, restartServer } from '../promptCache.mjs';
import { chatmlMessage, storyOfTokens } from '../prompts.mjs';
import { createResult, measureInterleaved, median, medianOf } from '../results.mjs';
import { openVocabulary } from '../tokenizer.mjs';

const characters = 40;
const headTokens = 1000;
const ownTokens = 50;
const maxTokens = 8;
const contextSize = 2048;
const message = 'Who are you, and what do you do here?';

export const cast = {
  name: 'cast',
  async run(bench) {
    const file = await bench.file('mid');
    const { count } = bench.closeAtEnd(await openVocabulary(file));
    const head = storyOfTokens(700, headTokens, count);
    const graph = graphOf(head);
    const own = Array.from({ length: characters }, (_, at) => storyOfTokens(1700 + 13 * at, ownTokens, count));
    const folders = {};
    for (const name of ['filled', 'empty', 'cold']) folders[name] = bench.closeAtEnd(await createCacheFolder()).path;
    bench.log('turngraph warm');
    await fillPromptCache(folders.filled, graph, { file, contextSize });
    // The head ends within a token that its last word begins.
    const least = count(chatmlMessage('system', head)) - 8;
    const castSide = (cache, check) => async (round) => {
      bench.log(`cast, round ${round}`);
      const { client, agent, close } = await restartServer(bench, { file, contextSize, cache }, graph);
      const agents = [agent];
      while (agents.length < characters) agents.push(await client.createAgent({ graph }));
      const start = performance.now();
      const answers = await Promise.all(agents.map((one, at) => speak(one, own[at])));
      const end = performance.now() - start;
      await close();
      for (const { turn } of answers) check(turn.tokens);
      const reused = answers.map(({ turn }) => turn.tokens.reused);
      return { end, leastReused: Math.min(...reused), slowestFirst: Math.max(...answers.map(({ first }) => first)) };
    };
    const coldSide = async (round) => {
      bench.log(`cold ones, round ${round}`);
      const { client, close } = await restartServer(bench, { file, contextSize, cache: folders.cold }, graph);
      const times = [];
      for (let at = 0; at < bench.repeats(3, 2); at++) {
        const one = await client.createAgent({ graph: graphOf(`Tale ${at}. ${head}`) });
        const { end, turn } = await speak(one, own[at]);
        checkCold(turn.tokens);
        times.push(end);
      }
      await close();
      return median(times);
    };
    const sides = {
      filled: castSide(folders.filled, (tokens) => checkReused(tokens, least)),
      empty: castSide(folders.empty, () => {}),
      cold: coldSide,
    };
    const rounds = await measureInterleaved(sides, bench.repeats(5, 1));
    const coldMs = median(rounds.cold);
    return [
      resultOf(`mid, ${characters} characters`, rounds.filled, coldMs, 0.25),
      resultOf(`mid, ${characters} characters, prompt cache empty`, rounds.empty, coldMs, null),
    ];
  },
};

const graphOf = (head) => generateGraph(maxTokens, { system_prompt: `${head} {{character}}` });

/** @throws Error when the answer ended early. */
async function speak(agent, character) {
  const answer = await timeTurn(agent, message, { variables: { character } });
  const { generated } = answer.turn.tokens;
  if (generated !== maxTokens) throw new Error(`${generated} tokens instead of ${maxTokens}`);
  return answer;
}

function resultOf(of, rounds, coldMs, goal) {
  const ms = medianOf(rounds, ({ end }) => end);
  return createResult({
    name: 'cast',
    of,
    ratio: ms / (characters * coldMs),
    goal,
    better: 'lower',
    ms,
    coldMs,
    slowestFirstMs: medianOf(rounds, ({ slowestFirst }) => slowestFirst),
    leastReused: Math.min(...rounds.map(({ leastReused }) => leastReused)),
  });
}
