// next-turn: cost of the 2nd to 20th turn of a dialog, with prefix reuse (model mid, and in one conversation each the models
// hybrid and window, whose caches cannot be cut back everywhere).
//
// Tokens: evaluated tokens of a turn (tokens_prompt - tokens_reused of TurnComplete) / tokens that are new to the model,
// counted here with its tokenizer: the user's message, the end of the previous answer, and the template's tokens around them.
// Time: time to first token / time of the baseline to evaluate just the new tokens after the same prefix and sample one.
// Without tools the time is the client's, from sending to the first piece of text. With tools a ToolCall node runs first and
// calls nothing, then a Generate node answers: for the ToolCall node the previous answer is new as well. Its text is not
// streamed, so the time is TurnComplete.time_to_first_token_ms, which is that of the ToolCall node. There the worst turn is
// compared, too, with what any model may evaluate: the new message in each of both nodes, and one interaction.
import { formats } from '../../../dist/chat/formats/index.js';
import { readTool } from '../../../dist/chat/tools/declaration/readTool.js';
import { timeTurn, generateGraph } from '../client.mjs';
import { createResult, median } from '../results.mjs';
import { chatmlMessage, assistantHeader, story } from '../prompts.mjs';
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

const toolsText = formats.get('chatml').render(tools.map((tool) => readTool(tool).value));

const greedy = (max_tokens) => ({ temperature: 0, max_tokens });
const withTools = {
  default_model_name: 'bench',
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools, tool_call_format: 'chatml', sampling: greedy(4) },
      exits: { no_tool_called: 'answer' },
    },
    answer: { type: 'Generate', params: { system_prompt: system, sampling: greedy(maxTokens) } },
  },
};

const variants = {
  'without tools': { graph: generateGraph(maxTokens, { system_prompt: system }), timeOf: ({ first }) => first },
  'with tools': { graph: withTools, timeOf: ({ turn }) => turn.timeToFirstTokenMs },
};

export const nextTurn = {
  name: 'next-turn',
  async run(bench) {
    const results = [];
    for (const [model, repeats] of Object.entries({ mid: bench.repeats(2, 1), hybrid: 1, window: 1 }))
      results.push(...(await measureModel(bench, model, repeats)));
    return results;
  },
};

async function measureModel(bench, model, repeats) {
  const file = await bench.file(model);
  const { count } = bench.closeAtEnd(await openVocabulary(file));
  const client = await bench.client(await bench.server({ file }));
  const baseline = await bench.baseline({ file });
  const results = [];
  for (const [of, variant] of Object.entries(variants)) {
    const conversations = [];
    for (let repeat = 0; repeat < repeats; repeat++) {
      bench.log(`${model}, ${of}, conversation ${repeat + 1}`);
      conversations.push(await measureConversation({ client, baseline, count, ...variant, seed: 20 * repeat }));
    }
    const row = model === 'mid' ? of : `${of}, ${model}`;
    results.push(...resultsOf(row, conversations));
    if (variant.graph === withTools) results.push(allowedResult(row, conversations));
  }
  return results;
}

async function measureConversation({ client, baseline, count, graph, timeOf, seed }) {
  const agent = await client.createAgent({ graph });
  const isWithTools = graph === withTools;
  // The ToolCall node has no system message of its own, so the tools are one.
  let prefix = chatmlMessage('system', isWithTools ? toolsText : system);
  let previous = '';
  let previousMessage = '';
  const costs = [];
  for (let turn = 0; turn < turns; turn++) {
    const message = story(7000 + 31 * (seed + turn), 30);
    const answer = await timeTurn(agent, message);
    // New to the Generate node is the message; new to the ToolCall node is the previous answer as well.
    const newToGenerate = (turn === 0 ? '' : '<|im_end|>\n') + chatmlMessage('user', message) + assistantHeader;
    const newToToolCall =
      (turn === 0 ? '' : previous + '<|im_end|>\n') + chatmlMessage('user', message) + assistantHeader;
    const fresh = isWithTools ? newToToolCall : newToGenerate;
    const newTokens = count(newToGenerate) + (isWithTools ? count(newToToolCall) : 0);
    const { first } = await baseline.run('firstTokenAfterPrefix', { prefix, fresh });
    const { prompt, reused } = answer.turn.tokens;
    const interaction = chatmlMessage('user', previousMessage) + chatmlMessage('assistant', previous);
    const allowed = 2 * count(newToGenerate) + count(interaction);
    if (turn > 0)
      costs.push({ evaluated: prompt - reused, newTokens, allowed, time: timeOf(answer), baselineTime: first });
    previousMessage = message;
    previous = answer.turn.text;
    prefix += fresh + (isWithTools ? '' : previous);
  }
  await agent.destroy();
  return costs;
}

/** The worst turn, of what may be evaluated in it. */
function allowedResult(of, conversations) {
  const shares = conversations.flat().map((cost) => ({ ...cost, ratio: cost.evaluated / cost.allowed }));
  const { ratio, evaluated, allowed } = shares.toSorted((a, b) => b.ratio - a.ratio)[0];
  const name = 'next-turn';
  return createResult({ name, of: `most tokens, ${of}`, ratio, goal: 1, better: 'lower', evaluated, allowed });
}

function resultsOf(of, conversations) {
  const costs = conversations.flat();
  const tokens = costs.map(({ evaluated, newTokens }) => evaluated / newTokens);
  const [time, baselineTime] = [median(costs.map((cost) => cost.time)), median(costs.map((cost) => cost.baselineTime))];
  return [
    createResult({
      name: 'next-turn',
      of: `tokens, ${of}`,
      ratio: median(tokens),
      goal: 1.05,
      better: 'lower',
      evaluated: median(costs.map(({ evaluated }) => evaluated)),
      new: median(costs.map(({ newTokens }) => newTokens)),
      worst: Math.max(...tokens),
    }),
    createResult({
      name: 'next-turn',
      of: `first token, ${of}`,
      ratio: time / baselineTime,
      goal: 1.2,
      better: 'lower',
      ms: time,
      bareMs: baselineTime,
    }),
  ];
}
