// strict-call: time of a strict (grammar-constrained) call / of sampling the same text unconstrained (model mid).
//
// A ToolCall node has to call a given tool (strict, tool_choice); the random model only chooses the values. Before each
// measurement the dialog is cleared, so the prompt is in the KV cache except for its last token: the turn is all decoding, on
// the client's clock from sending to the end. The baseline has the same prompt in its cache; for each token of the call's text
// it samples one token and replaces it.
import { formats } from '../../../dist/chat/formats/index.js';
import { readTool } from '../../../dist/chat/tools/declaration/readTool.js';
import { timeTurn } from '../client.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { chatmlPrompt } from '../prompts.mjs';

const object = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const tools = [
  {
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: object({
      name: { type: 'string', maxLength: 12, description: 'Which light.' },
      on: { type: 'boolean', description: 'true to turn it on.' },
    }),
  },
  {
    name: 'give_item',
    description: 'Give an item to the player.',
    parameters: object({
      item: { type: 'string', enum: ['sword', 'potion', 'map', 'lantern'], description: 'Which item.' },
      count: { type: 'integer', minimum: 1, maximum: 99, description: 'How many.' },
    }),
  },
  {
    name: 'move_to',
    description: 'Walk somewhere.',
    parameters: object({
      place: { type: 'string', maxLength: 16, description: 'Where to.' },
      speed: { type: 'string', enum: ['walk', 'run'], description: 'How fast.' },
    }),
  },
];
const format = formats.get('chatml');
const message = 'Do what has to be done.';

export const strictCall = {
  name: 'strict-call',
  async run(bench) {
    const file = await bench.file('mid');
    const client = await bench.client(await bench.server({ file }));
    const baseline = await bench.baseline({ file });
    const sums = { strict: 0, free: 0, strictTokens: 0, freeTokens: 0 };
    const ratios = {};
    for (const { name } of tools) {
      bench.log(name);
      const { server, baseline: free } = await measure(bench, client, baseline, name);
      const times = [medianOf(server, ({ end }) => end), medianOf(free, ({ end }) => end)];
      ratios[name] = times[0] / times[1];
      sums.strict += times[0];
      sums.free += times[1];
      sums.strictTokens += server[0].turn.tokens.generated;
      sums.freeTokens += free[0].tokens;
    }
    return [
      createResult({
        name: 'strict-call',
        of: `mid, ${tools.length} calls`,
        ratio: sums.strict / sums.free,
        goal: 0.7,
        better: 'lower',
        ms: sums.strict,
        freeMs: sums.free,
        tokens: sums.strictTokens,
        freeTokens: sums.freeTokens,
        ratios,
      }),
    ];
  },
};

async function measure(bench, client, baseline, tool_choice) {
  const params = { tools, tool_choice, strict: true, tool_call_format: format.name, sampling: { temperature: 0 } };
  const graph = { default_model_name: 'bench', start_node: 'call', nodes: { call: { type: 'ToolCall', params } } };
  const agent = await client.createAgent({ graph });
  const once = async () => {
    await agent.clearDialog();
    return timeTurn(agent, message);
  };
  // Twice: a prompt evaluated in one batch rounds differently from a cached one, so only the second call is the reference.
  await once();
  const { turn } = await once();
  const prompt = chatmlPrompt(format.render(tools.map((tool) => readTool(tool).value)), message);
  const call = textOf(turn.calls[0]);
  const sides = { server: once, baseline: () => baseline.run('sampleText', { prompt, text: call }) };
  const rounds = await measureInterleaved(sides, bench.repeats(9, 3));
  await agent.destroy();
  for (const one of rounds.server) {
    if (textOf(one.turn.calls[0]) !== call)
      throw new Error(`two calls of one prompt: ${call}, ${textOf(one.turn.calls[0])}`);
    const { prompt: all, reused } = one.turn.tokens;
    if (all - reused > 1) throw new Error(`${all - reused} tokens of the prompt were not in the cache`);
  }
  return rounds;
}

/** The text of a call as the chatml format writes it. */
function textOf(call) {
  if (!call) throw new Error('there was no call');
  return `<tool_call>\n{"name": "${call.toolName}", "arguments": ${spaced(call.arguments)}}\n</tool_call>`;
}

const spaced = (given) =>
  `{${Object.entries(given)
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(', ')}}`;
