// stream: tokens a second that a client of the SDK hears / that a bare loop over node-llama-cpp has.
//
// The same prompt goes to both, cold, and both write the same greedy text; that the prompts have as many tokens and the
// texts are equal is checked. The decode rate counts the tokens behind the first from the first piece of text to the last,
// on the client's clock and on the bare loop's; the total rate counts all tokens from sending to the end of the turn.
// Demo ends its answers early, so there a round is several messages, and their times are added; its warm-up is longer, for a
// token takes it no longer than code that has not been compiled yet.
import { decodeRate, heard, talk, totalRate } from '../client.mjs';
import { figure, interleaved, medianOf } from '../results.mjs';
import { promptOf, story } from '../prompts.mjs';
import { serveFlags } from '../server.mjs';

const goals = { mid: 0.97, demo: 0.9 };
const slots = 4;

export const stream = {
  name: 'stream',
  async run(bench) {
    const stats = [];
    for (const model of ['mid', 'demo']) stats.push(await measure(bench, model, 'in'));
    const hasChild = (await serveFlags()).has('engine-process');
    if (hasChild) stats.push(await measure(bench, 'mid', 'child'));
    else bench.log('serve has no --engine-process: the child engine is not measured');
    return stats;
  },
};

async function measure(bench, model, engine) {
  const file = await bench.file(model);
  const server = await bench.server({ file, flags: { slots: slots, 'engine-process': engine } });
  const bare = await bench.bare({ file, sequences: slots });
  const client = await bench.client(server);
  const { messages, maxTokens, repeats } = load[model];
  const sides = {
    server: async (round) => sumOf(await inTurn(messages(round), (text) => served(client, text, maxTokens))),
    bare: async (round) =>
      sumOf(await inTurn(messages(round), (text) => bare.ask('stream', { prompt: promptOf('', text), maxTokens }))),
  };
  const rounds = await interleaved(sides, bench.repeats(...repeats));
  check(rounds);
  await bench.close();
  const rates = (rate) => [medianOf(rounds.server, rate), medianOf(rounds.bare, rate)];
  const [mine, theirs] = rates(decodeRate);
  const [mineInAll, theirsInAll] = rates(totalRate);
  return figure({
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

const load = {
  mid: { maxTokens: 128, repeats: [9, 3], messages: (round) => [story(round, 60)] },
  demo: {
    maxTokens: 200,
    // Short rounds, so that what else happens on the machine hits both sides.
    repeats: [41, 15],
    messages: (round) =>
      Array.from({ length: round === 0 ? 150 : 12 }, (_, at) => `${asks[at % asks.length]} (${round * 1000 + at})`),
  },
};

const asks = ['Tell me a joke.', 'Hello! Who are you?', 'What is your name?', 'Tell me a story.'];

async function served(client, text, maxTokens) {
  const agent = await client.createAgent({ graph: talk(maxTokens) });
  const { first, last, end, turn } = await heard(agent, text);
  await agent.destroy();
  return { first, last, end, generated: turn.tokens.generated, prompt: turn.tokens.prompt, text: turn.text };
}

async function inTurn(messages, ask) {
  const results = [];
  for (const message of messages) results.push(await ask(message));
  return results;
}

// Several answers as one: each has a first token that the decode rate does not count.
const sumOf = (answers) => {
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

function check({ server, bare }) {
  server.forEach((one, round) => {
    const other = bare[round];
    if (one.prompts !== other.prompts) throw new Error(`prompts of ${one.prompts} and ${other.prompts} tokens`);
    const at = one.texts.findIndex((text, index) => text !== other.texts[index]);
    if (at >= 0) throw new Error(`the server wrote ${one.texts[at]}, the bare loop ${other.texts[at]}`);
  });
}
