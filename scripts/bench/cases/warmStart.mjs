// warm-start: time to first token of the first turn after a restart with a filled prompt cache / with an empty one.
//
// The system prompt has about 1,500 tokens, the message about 10. Once `turngraph warm` evaluates the graph into a cache
// folder; a second folder stays without prompts. In each round a new server starts for each folder, an agent is created, which
// loads the model but evaluates nothing, and one message is sent. The time is the client's, from sending to the end of a turn
// of one token, which need not be text in a random model. Servers run with their defaults: an engine process, and threads of
// their own choice. Both folders have measured thread timings, from the warm-up round. It is checked that the warm turn reuses
// the whole system prompt, which only the disk has, and that the cold one reuses nothing. Models: mid, and hybrid and window,
// whose caches cannot be cut back everywhere.
import { generateGraph, timeTurn } from '../client.mjs';
import { checkCold, checkReused, createCacheFolder, fillPromptCache, restartServer } from '../promptCache.mjs';
import { chatmlMessage, storyOfTokens } from '../prompts.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { openVocabulary } from '../tokenizer.mjs';

const headTokens = 1500;
const contextSize = 4096;
const message = 'Who are you, and what do you do here?';

export const warmStart = {
  name: 'warm-start',
  async run(bench) {
    const results = [];
    const models = { mid: bench.repeats(7, 2), hybrid: bench.repeats(5, 1), window: bench.repeats(5, 1) };
    for (const [model, repeats] of Object.entries(models)) results.push(await measureModel(bench, model, repeats));
    return results;
  },
};

async function measureModel(bench, model, repeats) {
  const file = await bench.file(model);
  const { count } = bench.closeAtEnd(await openVocabulary(file));
  const system = storyOfTokens(600, headTokens, count);
  const graph = generateGraph(1, { system_prompt: system });
  const least = count(chatmlMessage('system', system));
  const [warm, cold] = [bench.closeAtEnd(await createCacheFolder()), bench.closeAtEnd(await createCacheFolder())];
  bench.log(`${model}: turngraph warm`);
  await fillPromptCache(warm.path, graph, { file, contextSize });
  const side = (cache, check) => async (round) => {
    bench.log(`${model}: round ${round}`);
    const { agent, close } = await restartServer(bench, { file, contextSize, cache }, graph);
    const { end, turn } = await timeTurn(agent, message);
    await close();
    check(turn.tokens);
    return { end, ...turn.tokens };
  };
  const sides = {
    warm: side(warm.path, (tokens) => checkReused(tokens, least)),
    cold: side(cold.path, checkCold),
  };
  const rounds = await measureInterleaved(sides, repeats);
  const [ms, coldMs] = [medianOf(rounds.warm, ({ end }) => end), medianOf(rounds.cold, ({ end }) => end)];
  const [{ prompt, reused }] = rounds.warm;
  return createResult({
    name: 'warm-start',
    of: model,
    ratio: ms / coldMs,
    goal: 0.1,
    better: 'lower',
    ms,
    coldMs,
    tokens: prompt,
    reused,
  });
}
