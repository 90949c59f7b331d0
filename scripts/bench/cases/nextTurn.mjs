// next-turn: what the 2nd to 20th turn of a conversation costs (mid).
//
// Tokens: those that a turn evaluates (tokens_prompt - tokens_reused of TurnComplete) / those that are new to the model,
// counted here with its tokeniser: the user's message, the end of the answer before, and the template's own around them.
// Time: until the first token / until a bare loop has evaluated just those tokens behind the same prefix and drawn one.
// Without tools the time is the client's, from sending to the first piece of text. With tools a ToolCall node listens
// first and calls nothing, then a Generate node answers: for the first of them the answer before is new as well. Its text
// is not streamed, so there the time is that of TurnComplete.time_to_first_token_ms, which is the ToolCall node's.
import { formats } from '../../../dist/tools/formats/index.js';
import { readTool } from '../../../dist/tools/tool.js';
import { heard, talk } from '../client.mjs';
import { figure, median } from '../results.mjs';
import { framed, opening, story } from '../prompts.mjs';
import { openVocabulary } from '../tokenizer.mjs';

const turns = 20;
const maxTokens = 24;
const system = `You are the keeper of a lighthouse. ${story(5, 60)}`;

const tools = [
  {
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: [
      { name: 'name', type: 'string', description: 'Which light.' },
      { name: 'on', type: 'boolean', description: 'true to turn it on.' },
    ],
  },
];

const offer = formats.get('chatml').render(tools.map((tool) => readTool(tool).value));

const greedy = (max_tokens) => ({ temperature: 0, max_tokens });
const withTools = {
  default_model_name: 'bench',
  start_node: 'listen',
  nodes: {
    listen: {
      type: 'ToolCall',
      params: { tools, tool_call_format: 'chatml', sampling: greedy(4) },
      exits: { no_tool_called: 'talk' },
    },
    talk: { type: 'Generate', params: { system_prompt: system, sampling: greedy(maxTokens) } },
  },
};

const cases = {
  'without tools': { graph: talk(maxTokens, { system_prompt: system }), timeOf: ({ first }) => first },
  'with tools': { graph: withTools, timeOf: ({ turn }) => turn.timeToFirstTokenMs },
};

export const nextTurn = {
  name: 'next-turn',
  async run(bench) {
    const file = await bench.file('mid');
    const { count } = bench.kept(await openVocabulary(file));
    const client = await bench.client(await bench.server({ file }));
    const bare = await bench.bare({ file });
    const stats = [];
    for (const [of, one] of Object.entries(cases)) {
      const conversations = [];
      for (let repeat = 0; repeat < bench.repeats(2, 1); repeat++) {
        bench.log(`${of}, conversation ${repeat + 1}`);
        conversations.push(await converse({ client, bare, count, of, ...one, seed: 20 * repeat }));
      }
      stats.push(...figuresOf(of, conversations));
    }
    return stats;
  },
};

async function converse({ client, bare, count, of, graph, timeOf, seed }) {
  const agent = await client.createAgent({ graph });
  const isWithTools = of === 'with tools';
  // The listening node has no system message of its own, so the tools are one.
  let prefix = framed('system', isWithTools ? offer : system);
  let before = '';
  const costs = [];
  for (let turn = 0; turn < turns; turn++) {
    const message = story(7000 + 31 * (seed + turn), 30);
    const answer = await heard(agent, message);
    // New to the node that speaks last is the message; to the one that listened, the answer before it as well.
    const asked = (turn === 0 ? '' : '<|im_end|>\n') + framed('user', message) + opening;
    const told = (turn === 0 ? '' : before + '<|im_end|>\n') + framed('user', message) + opening;
    const fresh = isWithTools ? told : asked;
    const wanted = count(asked) + (isWithTools ? count(told) : 0);
    const { first } = await bare.ask('behind', { prefix, fresh });
    const { prompt, reused } = answer.turn.tokens;
    if (turn > 0) costs.push({ evaluated: prompt - reused, wanted, time: timeOf(answer), bareTime: first });
    before = answer.turn.text;
    prefix += fresh + (isWithTools ? '' : before);
  }
  await agent.destroy();
  return costs;
}

function figuresOf(of, conversations) {
  const costs = conversations.flat();
  const tokens = costs.map(({ evaluated, wanted }) => evaluated / wanted);
  const [time, bareTime] = [median(costs.map((one) => one.time)), median(costs.map((one) => one.bareTime))];
  return [
    figure({
      name: 'next-turn',
      of: `tokens, ${of}`,
      ratio: median(tokens),
      goal: 1.05,
      better: 'lower',
      evaluated: median(costs.map(({ evaluated }) => evaluated)),
      new: median(costs.map(({ wanted }) => wanted)),
      worst: Math.max(...tokens),
    }),
    figure({
      name: 'next-turn',
      of: `first token, ${of}`,
      ratio: time / bareTime,
      goal: 1.2,
      better: 'lower',
      ms: time,
      bareMs: bareTime,
    }),
  ];
}
