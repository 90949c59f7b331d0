// Fuzzes tool-call detection with mutated model output: characters changed, cut, repeated and moved, tags and quotes
// inserted. Detection must not throw, and each call must have a name, arguments, and the text it was read from.
import { nativeFormats, nativeOutputs } from '../nativeLayouts.mjs';
import { below, pick, createRandom } from '../seededRandom.mjs';

export const name = 'detect';

/**
 * Fuzzes the built formats.
 * @param {{ count: number, seed: number, log?: (line: string) => void }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export async function fuzz({ count, seed, log = () => {} }) {
  const { formats } = await import('../../dist/chat/formats/index.js');
  const { nativeFormat } = await import('../../dist/chat/dialect/nativeFormat.js');
  const { stringifyJson } = await import('../../dist/chat/json/value.js');
  const all = new Map([...formats, ...nativeFormats(nativeFormat)]);
  const start = performance.now();
  const { calls, repaired, truncated } = fuzzTarget({ formats: all, stringifyJson }, { count, seed });
  const seconds = (performance.now() - start) / 1000;
  log(
    `${count} inputs in ${seconds.toFixed(1)} s, ${Math.round(count / seconds)} a second: ` +
      `${calls} calls, ${repaired} of them repaired, ${truncated} texts cut off`,
  );
}

/**
 * Detects calls in `count` mutated texts, each in a random format, and counts the outcomes.
 * @param {{
 *   formats: ReadonlyMap<string, import('../../src/chat/tool.ts').ToolCallFormat>,
 *   stringifyJson: typeof import('../../src/chat/json/value.ts').stringifyJson,
 * }} target
 * @param {{ count: number, seed: number }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export function fuzzTarget({ formats, stringifyJson }, { count, seed }) {
  const random = createRandom(seed);
  const tally = { calls: 0, repaired: 0, truncated: 0 };
  const dialects = [...formats];
  for (let index = 0; index < count; index++) {
    const [formatName, format] = pick(random, dialects);
    const outputs = nativeOutputs(formatName) ?? corpus;
    const text = mutated(pick(random, below(random, 4) === 0 ? corpus : outputs), random);
    try {
      const { calls, residual, truncated } = format.detect(text);
      for (const call of calls) checkCall(call, text, stringifyJson);
      if (typeof residual !== 'string' || residual !== residual.trim()) throw new Error('the text is not trimmed');
      if (calls.length === 0 && !hasLines(text, residual)) throw new Error('text appears from nowhere');
      tally.calls += calls.length;
      tally.repaired += calls.filter((call) => call.repaired).length;
      tally.truncated += Number(truncated);
    } catch (error) {
      throw new Error(`input ${index} of seed ${seed}, ${formatName}: ${JSON.stringify(text)}`, { cause: error });
    }
  }
  return tally;
}

// A format may leave out lines between others, such as thoughts.
const hasLines = (text, residual) => residual.split('\n').every((line) => text.includes(line));

function checkCall(call, text, stringifyJson) {
  if (typeof call.name !== 'string' || call.name === '') throw new Error('a call has no name');
  if (!text.includes(call.raw)) throw new Error(`not in the text: ${call.raw}`);
  const given = JSON.parse(stringifyJson(call.arguments));
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error('arguments are no object');
}

/** The seed corpus: well-formed model output with one or two calls each. */
export const corpus = [
  '<tool_call>\n{"name": "get_tide", "arguments": {"port": "Oban"}}\n</tool_call>',
  'Both.\n<tool_call>\n{"name": "a", "arguments": {"n": -1.5e3}}\n</tool_call>\n<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call><|im_end|>',
  '<think>\nThe port is Oban.\n</think>\n\n<tool_call>\n{"name": "get_tide", "arguments": {"port": "Oban"}}\n</tool_call>',
  '<tool_call>\n{"name": "note", "arguments": {"body": "say <tool_call>{\\"name\\": \\"x\\"}</tool_call> or `y`"}}\n</tool_call>',
  "<tool_call>\n{'name': 'set_lamp', 'arguments': {'room': 'attic', 'on': True, 'dim': None,}}\n</tool_call>",
  '{"name": "get_tide", "parameters": {"port": "Oban", "days": [1, 2, {"from": null}]}}<|eot_id|>',
  '<|python_tag|>{"type": "function", "function": {"name": "roll", "parameters": {"sides": 9007199254740993}}}',
  'Sure.\n```json\n{"name": "note", "parameters": {"body": "a } and a \\"{\\" \\u00e9\\ud83d\\ude80"}}\n```\nDone.',
  '<function=get_tide>{"port": "Oban"}</function>',
  '[TOOL_CALLS] [{"name": "get_tide", "arguments": {"port": "Oban"}}, {"name": "roll", "arguments": "{\\"sides\\": 6}"}]</s>',
  '[THINK]tide[/THINK][TOOL_CALLS]get_tide[CALL_ID]a1B2c3D4e[ARGS]{"port": "Oban"}[TOOL_CALLS]roll[ARGS]{}',
  '{"tool": "get_tide", "args": {"port": "Oban"}}',
  '```\n{"tool": "a", "args": {"x": true}}\n```\nand\n```\n{"tool": "b", "args": {"y": false}}\n```',
  '[{"tool": "a", "args": {"x": ""}}, {"tool": "b"}]',
  'Thought: The tide.\nAction: get_tide\nAction Input: {"port": "Oban"}\nObservation: low\nFinal Answer: It is low.',
  'Action: note\nAction Input: {"body": "say \\nAction: x"}\nThought: More.\nAction: roll\nAction Input: {}',
  "Thought: A greeting.\nFinal Answer: Hello {you}!\n**Action:** `roll`\n**Action Input:** {'sides': 6,}",
];

const inserts = [
  '<tool_call>',
  '</tool_call>',
  '<|tool_call|>',
  '<function_call>',
  '</function_call>',
  '<|python_tag|>',
  '<function=f>',
  '</function>',
  '[TOOL_CALLS]',
  '[ARGS]',
  '[CALL_ID]',
  '<think>',
  '</think>',
  '[THINK]',
  '[/THINK]',
  '<calls>',
  '</calls>',
  '<|call|>functions.',
  '<|args|>',
  '<|/call|>',
  '<act>',
  '<to=',
  '<arg=x>',
  '</arg>',
  '</to>',
  '<to name="',
  '<arg name="x" string="false">',
  '<|act>to:',
  '<act|>',
  '<|"|>',
  '<|acts|>[',
  ']<|/acts|>',
  'x=',
  '(',
  ')',
  '<|channel|>',
  '<|message|>',
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  '\\',
  '`',
  '```',
  '```json\n',
  ',',
  ':',
  '\n',
  '\n\n',
  ' ',
  '\0',
  '\ud800',
  '\u2028',
  '{"',
  '{"name": "x"}',
  '{"tool": "x", "args": {}}',
  'null',
  'True',
  '-',
  '1e',
  '\\u00',
  '<|im_end|>',
  '</s>',
  '\nAction: ',
  '\nAction Input: ',
  'Action:',
  '\nThought: ',
  '\nFinal Answer: ',
  '\nObservation: ',
  'None',
];

const changes = [
  (text, at, random) => text.slice(0, at) + String.fromCharCode(below(random, 128)) + text.slice(at + 1),
  (text, at, random) =>
    text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << below(random, 8))) + text.slice(at + 1),
  (text, at, random) => text.slice(0, at) + pick(random, inserts) + text.slice(at),
  (text, at, random) => text.slice(0, at) + pick(random, inserts) + text.slice(at),
  (text, at, random) => text.slice(0, at) + pick(random, inserts).repeat(below(random, 100)) + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at, random) => text.slice(0, at) + text.slice(at + 1 + below(random, 12)),
  (text, at, random) =>
    text.slice(0, at) + text.slice(at, at + below(random, 40)).repeat(1 + below(random, 4)) + text.slice(at),
  (text, at, random) => text.slice(0, at) + pick(random, corpus).slice(below(random, 40)) + text.slice(at),
  (text, at, random) => text.slice(at) + pick(random, ['', '\n', ' ']) + text.slice(0, at),
];

function mutated(text, random) {
  let changed = text;
  for (let left = below(random, 6); left > 0; left--) {
    changed = pick(random, changes)(changed, below(random, changed.length + 1), random);
  }
  return changed;
}
