// Compares strict (grammar-constrained) calls of the demo model with unconstrained ones: the calls and their generation time.
import { fileURLToPath } from 'node:url';
import { toFunctionDefinition } from '../../../dist/chat/formats/toolText.js';
import { formats } from '../../../dist/chat/formats/index.js';
import { readTool } from '../../../dist/chat/tools/declaration/readTool.js';
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { neutralSampling } from './sampling.mjs';

const demo = fileURLToPath(new URL('../../../models/turngraph-demo.gguf', import.meta.url));
const neverAborted = new AbortController().signal;
const greedy = { ...neutralSampling, temperature: 0, max_tokens: 100, seed: 1 };
const param = (name, type, description, rest = {}) => ({ name, type, description, ...rest });
const tools = [
  {
    name: 'set_light',
    description: 'Turn a named light on or off.',
    parameters: [param('name', 'string', 'Which light.'), param('on', 'boolean', 'true to turn it on.')],
  },
  { name: 'set_timer', description: 'Start a timer.', parameters: [param('minutes', 'integer', 'How many minutes.')] },
  {
    name: 'give_item',
    description: 'Give an item to the player.',
    parameters: [
      param('item', 'string', 'Which item.', { enum: ['sword', 'potion', 'map'] }),
      param('count', 'integer', 'How many.'),
    ],
  },
].map((declaration) => readTool(declaration).value);
const requests = [
  ['Turn the porch light on.', 'set_light {"name": "porch", "on": true}'],
  ['Switch off the kitchen light.', 'set_light {"name": "kitchen", "on": false}'],
  ['Set a timer for 12 minutes.', 'set_timer {"minutes": 12}'],
  ['Give me 3 potions.', 'give_item {"item": "potion", "count": 3}'],
  ['Hand me the map.', 'give_item {"item": "map", "count": 1}'],
  ['How are you today?', 'no call'],
];
const rounds = 15;

/** Prints, for each request, the calls and the median time in milliseconds, unconstrained and strict. */
export async function compareStrictAndFree(engine) {
  const model = await engine.load(demo, { contextSize: 1024, slots: 1, threads: 1, gpu: 'off' });
  const format = formats.get('chatml');
  const modes = { free: undefined, strict: format.grammar(tools, { kind: 'auto' }) };
  const block = {
    format: format.name,
    definitions: tools.map(toFunctionDefinition),
    place: format.place,
    text: format.render(tools),
  };
  const sequence = model.openSequence();
  const right = { free: 0, strict: 0 };
  for (const [text, expected] of requests) {
    const prompt = { messages: [{ role: 'user', text }], tools: block };
    const times = { free: [], strict: [] };
    const answers = {};
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? Object.entries(modes) : Object.entries(modes).toReversed();
      for (const [mode, grammar] of order) {
        const completion = await generate(sequence, prompt, grammar);
        const { totalMs, queuedMs } = completion.timings;
        // Warm-up: the first rounds fill the KV cache and the grammar caches.
        if (round > 2) times[mode].push(totalMs - queuedMs);
        answers[mode] = describeCalls(format.detect(completion.text));
      }
    }
    for (const mode of Object.keys(modes)) right[mode] += answers[mode] === expected ? 1 : 0;
    const ratio = median(times.strict) / median(times.free);
    console.log(
      `${text.padEnd(32)} free ${answers.free.padEnd(44)} strict ${answers.strict.padEnd(44)} ${median(times.free).toFixed(1)} -> ${median(times.strict).toFixed(1)} ms (${ratio.toFixed(2)})`,
    );
  }
  console.log(`correct: ${right.free} of ${requests.length} free, ${right.strict} strict`);
  await model[Symbol.asyncDispose]();
}

const generate = (sequence, prompt, grammar) =>
  sequence.generate(prompt, {
    sampling: greedy,
    signal: neverAborted,
    controlTokens: true,
    ...(grammar && { grammar }),
  });

const describeCalls = ({ calls }) =>
  calls.map((call) => `${call.name} ${stringifyJson(call.arguments)}`).join('; ') || 'no call';
const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
