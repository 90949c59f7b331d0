// speculate: calls per second with `"speculate": "prompt"` / with `off`, on the tool-call items of scripts/evals/tools (model
// demo, greedy).
//
// An item is a message to an agent with one ToolCall node. Free: the node reads calls in text; strict: a grammar constrains
// them; no call: items in which no tool fits, and the model answers in words. Before each measurement the dialog is cleared, so
// the prompt is in the KV cache except for its last token: the turn is all decoding, on the client's clock from sending to
// the end. Both sides must give the same answer. The sum of the medians of all items is compared.
import { readItems } from '../../evals/tools/items.mjs';
import { timeTurn } from '../client.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';

const sides = ['off', 'prompt'];
const kinds = {
  'free calls': { strict: false, hasCalls: true, goal: 1.05 },
  'strict calls': { strict: true, hasCalls: true, goal: 0.97 },
  'no call': { strict: false, hasCalls: false, goal: 0.97 },
};

export const speculate = {
  name: 'speculate',
  async run(bench) {
    const client = await bench.client(await bench.server({ file: await bench.file('demo') }));
    const items = await readItems(bench.repeats(Infinity, 8));
    const results = [];
    for (const [of, { strict, hasCalls, goal }] of Object.entries(kinds)) {
      bench.log(of);
      const sums = { off: 0, prompt: 0, tokens: 0, items: 0 };
      for (const item of items.filter(({ calls }) => calls.length > 0 === hasCalls)) {
        const { times, tokens } = await measure(bench, client, item, strict);
        for (const side of sides) sums[side] += times[side];
        sums.tokens += tokens;
        sums.items++;
      }
      const { off, prompt, ...counts } = sums;
      const ratio = off / prompt;
      results.push(
        createResult({
          name: 'speculate',
          of: `demo, ${of}`,
          ratio,
          goal,
          better: 'higher',
          ms: prompt,
          offMs: off,
          ...counts,
        }),
      );
    }
    return results;
  },
};

/** The median time of the turn of an item on each side, in milliseconds, and its tokens. */
async function measure(bench, client, { id, tools, message }, strict) {
  const agents = {};
  for (const side of sides) agents[side] = await client.createAgent({ graph: graphOf(tools, strict, side) });
  const once = async (side) => {
    await agents[side].clearDialog();
    return timeTurn(agents[side], message);
  };
  const rounds = await measureInterleaved(
    { off: () => once('off'), prompt: () => once('prompt') },
    bench.repeats(5, 3),
  );
  for (const agent of Object.values(agents)) await agent.destroy();
  const answers = new Set([...rounds.off, ...rounds.prompt].map(({ turn }) => answerOf(turn)));
  if (answers.size > 1) throw new Error(`${id} has two answers: ${[...answers].join(' and ')}`);
  return {
    times: { off: medianOf(rounds.off, ({ end }) => end), prompt: medianOf(rounds.prompt, ({ end }) => end) },
    tokens: rounds.off[0].turn.tokens.generated,
  };
}

const graphOf = (tools, strict, side) => ({
  default_model_name: 'bench',
  start_node: 'call',
  nodes: {
    call: {
      type: 'ToolCall',
      params: {
        tools,
        strict,
        tool_call_format: 'chatml',
        generate_on_no_tool: true,
        sampling: { temperature: 0, max_tokens: 256, speculate: side },
      },
    },
  },
});

const answerOf = ({ text, calls }) =>
  JSON.stringify([text, ...calls.map(({ toolName, arguments: given }) => [toolName, given])]);
