// Strict calls beside free ones of the demo model: what is called, and how long the writing of it takes.
import { fileURLToPath } from 'node:url';
import { toFunctionDefinition } from '../../../dist/tools/formats/functionJson.js';
import { formats } from '../../../dist/tools/formats/index.js';
import { readTool } from '../../../dist/tools/tool.js';
import { stringifyJson } from '../../../dist/tools/json/value.js';
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

/** Prints, for each request, what the demo model calls and in what time, freely and strictly. */
export async function compareStrictAndFree(engine) {
  const model = await engine.load(demo, { contextSize: 1024, slots: 1, threads: 1, gpu: 'off' });
  const format = formats.get('chatml');
  const ways = { free: undefined, strict: format.grammar(tools, { kind: 'auto' }) };
  const block = {
    format: format.name,
    definitions: tools.map(toFunctionDefinition),
    place: format.place,
    text: format.render(tools),
  };
  const sequence = model.openSequence();
  const right = { free: 0, strict: 0 };
  for (const [text, wanted] of requests) {
    const prompt = { messages: [{ role: 'user', text }], tools: block };
    const times = { free: [], strict: [] };
    const said = {};
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? Object.entries(ways) : Object.entries(ways).toReversed();
      for (const [way, grammar] of order) {
        const completion = await generate(sequence, prompt, grammar);
        const { total, waited } = completion.timings;
        // The first rounds fill the cache, learn the grammars and warm the program up.
        if (round > 2) times[way].push(total - waited);
        said[way] = describeCalls(format.detect(completion.text));
      }
    }
    for (const way of Object.keys(ways)) right[way] += said[way] === wanted ? 1 : 0;
    const ratio = median(times.strict) / median(times.free);
    console.log(
      `${text.padEnd(32)} free ${said.free.padEnd(44)} strict ${said.strict.padEnd(44)} ${median(times.free).toFixed(1)} -> ${median(times.strict).toFixed(1)} ms (${ratio.toFixed(2)})`,
    );
  }
  console.log(`as wished: ${right.free} of ${requests.length} freely, ${right.strict} strictly`);
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
