// strict-call: the time in which a strict call is written / in which the same text is sampled freely (mid).
//
// A ToolCall node has to call a tool it is told of (strict, tool_choice); a model without sense then writes a call of which
// only the values are its own. Before each measurement the dialog is cleared, so the prompt is in the cache but for its
// last token: the turn is all decoding, on the client's clock from sending to the end. The bare loop has the same prompt in
// its cache; it draws a token for each that the tokeniser makes of the call's text, and puts that in its place.
import { formats } from '../../../dist/tools/formats/index.js';
import { readTool } from '../../../dist/tools/tool.js';
import { heard } from '../client.mjs';
import { figure, interleaved, medianOf } from '../results.mjs';
import { promptOf } from '../prompts.mjs';

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
    const bare = await bench.bare({ file });
    const sums = { strict: 0, free: 0, strictTokens: 0, freeTokens: 0 };
    const ratios = {};
    for (const { name } of tools) {
      bench.log(name);
      const { server, bare: free } = await measure(bench, client, bare, name);
      const times = [medianOf(server, ({ end }) => end), medianOf(free, ({ end }) => end)];
      ratios[name] = times[0] / times[1];
      sums.strict += times[0];
      sums.free += times[1];
      sums.strictTokens += server[0].turn.tokens.generated;
      sums.freeTokens += free[0].tokens;
    }
    return [
      figure({
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

async function measure(bench, client, bare, tool_choice) {
  const params = { tools, tool_choice, strict: true, tool_call_format: format.name, sampling: { temperature: 0 } };
  const graph = { default_model_name: 'bench', start_node: 'call', nodes: { call: { type: 'ToolCall', params } } };
  const agent = await client.createAgent({ graph });
  const once = async () => {
    await agent.clearDialog();
    return heard(agent, message);
  };
  // The prompt goes into the cache, then the text of the call is learnt: read in one go, a prompt gives other roundings.
  await once();
  const { turn } = await once();
  const prompt = promptOf(format.render(tools.map((tool) => readTool(tool).value)), message);
  const call = textOf(turn.calls[0]);
  const sides = { server: once, bare: () => bare.ask('spelt', { prompt, text: call }) };
  const rounds = await interleaved(sides, bench.repeats(9, 3));
  await agent.destroy();
  for (const one of rounds.server) {
    if (textOf(one.turn.calls[0]) !== call)
      throw new Error(`two calls of one prompt: ${call}, ${textOf(one.turn.calls[0])}`);
    const { prompt: all, reused } = one.turn.tokens;
    if (all - reused > 1) throw new Error(`${all - reused} tokens of the prompt were not in the cache`);
  }
  return rounds;
}

// As the format writes it.
function textOf(call) {
  if (!call) throw new Error('there was no call');
  return `<tool_call>\n{"name": "${call.toolName}", "arguments": ${spaced(call.arguments)}}\n</tool_call>`;
}

const spaced = (given) =>
  `{${Object.entries(given)
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(', ')}}`;
