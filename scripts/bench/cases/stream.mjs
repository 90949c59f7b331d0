// stream: tokens per second that a client of the SDK receives / that the node-llama-cpp baseline generates.
//
// Both get the same prompt, without a cached prefix, and generate the same greedy text; equal token counts and texts are
// checked. The decode rate counts the tokens after the first, from the first piece of text to the last, on the client's clock
// and on the baseline's; the total rate counts all tokens from sending to the end of the turn. The model demo ends its answers
// early, so there a round is several messages, and their times are added; its warm-up is longer, because JavaScript that is
// not compiled yet takes longer than one of its tokens.
import { decodeRate, timeTurn, generateGraph, totalRate } from '../client.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { chatmlPrompt, story } from '../prompts.mjs';
import { readServeFlags } from '../server.mjs';

const goals = { mid: 0.97, demo: 0.9 };
const slots = 4;

export const stream = {
  name: 'stream',
  async run(bench) {
    const results = [];
    for (const model of ['mid', 'demo']) results.push(await measure(bench, model, 'in'));
    const hasChild = (await readServeFlags()).has('engine-process');
    if (hasChild) results.push(await measure(bench, 'mid', 'child'));
    else bench.log('serve has no --engine-process: the child engine is not measured');
    return results;
  },
};

async function measure(bench, model, engine) {
  const file = await bench.file(model);
  const server = await bench.server({ file, flags: { slots, 'engine-process': engine } });
  const baseline = await bench.baseline({ file, sequences: slots });
  const client = await bench.client(server);
  const { messages, maxTokens, repeats } = streamLoads[model];
  const sides = {
    server: streamSide(client, model),
    baseline: async (round) =>
      sumAnswers(
        await runSequentially(messages(round), (text) =>
          baseline.run('stream', { prompt: chatmlPrompt('', text), maxTokens }),
        ),
      ),
  };
  const rounds = await measureInterleaved(sides, bench.repeats(...repeats));
  checkSameAnswers(rounds.server, rounds.baseline);
  await bench.close();
  const rates = (rate) => [medianOf(rounds.server, rate), medianOf(rounds.baseline, rate)];
  const [mine, theirs] = rates(decodeRate);
  const [mineInAll, theirsInAll] = rates(totalRate);
  return createResult({
    name: 'stream',
    of: engine === 'child' ? `${model}, child engine` : model,
    ratio: mine / theirs,
    goal: engine === 'child' ? null : goals[model],
    better: 'higher',
    tokensPerSecond: mine,
    bareTokensPerSecond: theirs,
    totalRatio: mineInAll / theirsInAll,
    tokens: medianOf(rounds.server, ({ generated }) => generated),
    threads: bench.threads,
  });
}

/** What is generated with each model. */
export const streamLoads = {
  mid: { maxTokens: 128, repeats: [9, 3], messages: (round) => [story(round, 60)] },
  demo: {
    maxTokens: 200,
    // Short rounds, so that noise of the machine hits both sides.
    repeats: [41, 15],
    messages: (round) =>
      Array.from(
        { length: round === 0 ? 150 : 12 },
        (_, at) => `${messages[at % messages.length]} (${round * 1000 + at})`,
      ),
  },
};

const messages = ['Tell me a joke.', 'Hello! Who are you?', 'What is your name?', 'Tell me a story.'];

/** The side of a server: takes a round, answers its messages one after the other. */
export const streamSide = (client, model) => {
  const { messages, maxTokens } = streamLoads[model];
  return async (round) =>
    sumAnswers(await runSequentially(messages(round), (text) => runTurn(client, text, maxTokens)));
};

async function runTurn(client, text, maxTokens) {
  const agent = await client.createAgent({ graph: generateGraph(maxTokens) });
  const { first, last, end, turn } = await timeTurn(agent, text);
  await agent.destroy();
  return { first, last, end, generated: turn.tokens.generated, prompt: turn.tokens.prompt, text: turn.text };
}

async function runSequentially(messages, ask) {
  const results = [];
  for (const message of messages) results.push(await ask(message));
  return results;
}

// Adds several answers up; the decode rate does not count the first token of each.
const sumAnswers = (answers) => {
  const sum = (pick) => answers.reduce((total, one) => total + pick(one), 0);
  return {
    first: sum(({ first }) => first),
    last: sum(({ last }) => last),
    end: sum(({ end }) => end),
    generated: sum(({ generated }) => generated - 1) + 1,
    prompts: answers.map(({ prompt }) => prompt).join(),
    texts: answers.map(({ text }) => text.trim()),
  };
};

/** Compares the rounds of two sides. @throws Error when their prompts or texts are not the same. */
export function checkSameAnswers(rounds, otherRounds) {
  rounds.forEach((one, round) => {
    const other = otherRounds[round];
    if (one.prompts !== other.prompts) throw new Error(`prompts of ${one.prompts} and ${other.prompts} tokens`);
    const at = one.texts.findIndex((text, index) => text !== other.texts[index]);
    if (at >= 0) throw new Error(`one side wrote ${one.texts[at]}, the other ${other.texts[at]}`);
  });
}
