// npm run eval:bfcl [-- OPTIONS]: the Berkeley Function Calling Leaderboard v4, with its own way of comparing. Its data is fetched
// with pip once (scripts/weights.mjs).
//   --model NAME       a model of the catalogue; default turngraph-demo
//   --catalogue FILE   default: the models.json of this repository
//   --threads N        threads of inference; default 1, 0 = chosen by the engine
//   --categories LIST  default: all
//   --format NAME      tool-call format; default: that of the model
//   --strict           calls match their schemas
//   --required         the model has to call a tool (tool_choice)
//   --min-confidence N calls of a lower confidence are held back, and count as no call
//   --limit N          only the first N questions of each category
//   --peer URL         an OpenAI-compatible server in place of turngraph, such as http://127.0.0.1:8080
//   --json             one JSON document instead of the table
// A question whose declarations the server refuses counts as wrong; so does a turn that fails.
import { exitWithUsageError, fraction, readArguments, wholeNumber } from '../options.mjs';
import { whyWrong } from './bfcl/check.mjs';
import { categories, readQuestions } from './bfcl/questions.mjs';
import { serverOptions, withAgent, withClient } from './evalServer.mjs';
import { Confidences, confidenceLine } from './confidence.mjs';
import { formatColumns, percent } from './formatColumns.mjs';
import { sampling } from './tools/runItem.mjs';
import { detectedCalls, incompleteCalls } from './tools/readCalls.mjs';

const options = readOptions();
const rows = [];
const confidences = new Confidences();

if (options.peer) await measure((question) => askPeer(question));
else
  await withClient(options, async (client) => {
    await measure((question) => askServer(client, question));
  });
const { pairs } = confidences;
console.error(confidenceLine(pairs));
const document = { model: options.model, evaluation: 'eval:bfcl', rows, confidences: pairs };
console.log(options.json ? JSON.stringify(document, undefined, 2) : formatColumns(columnsOf(rows), rows, 1));

async function measure(ask) {
  for (const category of options.categories) {
    const questions = await readQuestions(category, options.limit);
    const outcomes = {};
    let [right, named] = [0, 0];
    for (const [index, question] of questions.entries()) {
      const { calls, failure } = await ask(question).catch(({ message }) => ({ calls: [], failure: message }));
      if (failure) console.error(`${question.id}: ${failure}`);
      const wrong = failure ? 'failed' : whyWrong(calls, question.truth, question.functions);
      const names = question.truth.flatMap(Object.keys);
      if (
        names.length > 0 &&
        calls
          .map(({ name }) => name)
          .toSorted()
          .join() === names.toSorted().join()
      )
        named++;
      confidences.add(calls, !wrong);
      if (wrong) outcomes[wrong] = (outcomes[wrong] ?? 0) + 1;
      else right++;
      if ((index + 1) % 50 === 0) console.error(`${category}: ${index + 1} of ${questions.length}, ${right} right`);
    }
    rows.push({ category, questions: questions.length, right: right / questions.length, named, ...outcomes });
  }
}

async function askServer(client, { system, message, tools }) {
  const params = {
    tools,
    ...(system && { system_prompt: system }),
    ...(options.format && { tool_call_format: options.format }),
    ...(options.strict && { strict: true }),
    ...(options.required && { tool_choice: 'required' }),
    ...(options.minConfidence && { min_confidence: options.minConfidence }),
    sampling,
  };
  const graph = { start_node: 'call', nodes: { call: { type: 'ToolCall', params } } };
  const turn = await withAgent(client, { model: options.model, graph }, (agent) => agent.send(message));
  return { calls: [...detectedCalls(turn), ...incompleteCalls(turn)] };
}

async function askPeer({ system, message, tools }) {
  const response = await fetch(new URL('/v1/chat/completions', options.peer), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: options.model,
      messages: [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content: message }],
      tools: tools.map((tool) => ({ type: 'function', function: tool })),
      tool_choice: options.required ? 'required' : 'auto',
      temperature: sampling.temperature,
      max_tokens: sampling.max_tokens,
    }),
  });
  if (!response.ok) return { calls: [], failure: `${response.status} ${(await response.text()).slice(0, 200)}` };
  const [{ message: answer }] = (await response.json()).choices;
  return { calls: (answer.tool_calls ?? []).map(({ function: call }) => toCall(call)) };
}

function toCall({ name, arguments: text }) {
  try {
    return { name, arguments: JSON.parse(text) };
  } catch {
    return { name, arguments: {} };
  }
}

function columnsOf(all) {
  const reasons = [...new Set(all.flatMap((row) => Object.keys(row)))].slice(4);
  return [
    ['category', ({ category }) => category],
    ['questions', ({ questions }) => String(questions)],
    ['right', ({ right }) => percent(right)],
    ['named', ({ named }) => String(named)],
    ...reasons.map((reason) => [reason, (row) => String(row[reason] ?? 0)]),
  ];
}

function readOptions() {
  const flag = { type: 'boolean', default: false };
  const { values } = readArguments({
    options: {
      ...serverOptions,
      categories: { type: 'string', default: Object.keys(categories).join() },
      format: { type: 'string' },
      limit: { type: 'string' },
      'min-confidence': { type: 'string' },
      peer: { type: 'string' },
      strict: flag,
      required: flag,
      json: flag,
    },
  });
  const named = values.categories.split(',');
  const unknown = named.find((name) => !(name in categories));
  if (unknown !== undefined)
    exitWithUsageError(`--categories knows ${Object.keys(categories).join(', ')}, not "${unknown}"`);
  const [limit, threads] = [wholeNumber('limit', values.limit), wholeNumber('threads', values.threads, 0)];
  const minConfidence = fraction('min-confidence', values['min-confidence']);
  return { ...values, categories: named, limit, threads, minConfidence };
}
