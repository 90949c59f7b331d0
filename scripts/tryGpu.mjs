// npm run try:vulkan [-- CHECK... OPTIONS], node scripts/tryGpu.mjs cuda|metal [CHECK... OPTIONS]: runs the built server and the
// contract of engines on a graphics card, and prints a line with figures for each check. Mesa's software device can stand in
// for a card. CHECK is the first word of the name of one; default: all.
//   --speed-model FILE  a GGUF file to compare the speeds with; default: the demo model
//   --required          no device is a fault; without it that is said, and the exit code is 0
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { converse, createChecks, expect, megabytes } from './checks.mjs';
import { readArguments } from './options.mjs';
import { shapes } from './random-model/shapes.mjs';
import { writeRandomModel } from './random-model/write.mjs';
import { startServer } from './stress/serverProcess.mjs';

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: { 'speed-model': { type: 'string' }, required: { type: 'boolean', default: false } },
});
const [gpu = 'vulkan', ...names] = positionals;
const demo = 'turngraph-demo';
/** Of the demo model; llama.cpp counts the output layer, too. */
const layers = 8;
const crash = 'a process of the tests ended';
const root = fileURLToPath(new URL('..', import.meta.url));
const { addFault, check, end } = createChecks(
  names,
  (fault) => isSoftware() && (fault.includes('SIGSEGV') || fault.includes(crash)),
);

const card = await findCard();
if (card) {
  console.log(
    `card: ${card.names.join(', ')}; ${megabytes(card.freeBytes)} of ${megabytes(card.totalBytes)} are free; ${gpu}`,
  );
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-gpu-'));
  try {
    await checkAll(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
end(card !== undefined);

async function findCard() {
  let hardware = await readHardware();
  if (!hardware.card && gpu === 'vulkan') {
    // llama.cpp leaves out software devices that are not named.
    process.env.GGML_VK_VISIBLE_DEVICES = '0';
    hardware = await readHardware();
  }
  if (!hardware.card) {
    console.log(`no device for ${gpu}, so nothing was checked: ${hardware.problem}`);
    if (values.required) addFault(new Error('nothing was checked'));
  }
  return hardware.card;
}

async function readHardware() {
  const { machine, problem } = await runTurngraph('models', 'suggest', '--json', '--gpu', gpu);
  return { card: machine?.card, problem };
}

/** The JSON that a command prints, and what it says on standard error. */
async function runTurngraph(...args) {
  const { code, out, err } = await run([join(root, 'dist/cli/turngraph.js'), ...args]);
  return { code, problem: err.trim(), ...(out.startsWith('{') && JSON.parse(out)) };
}

function run(args, env = {}) {
  const options = { cwd: root, env: { ...process.env, ...env }, maxBuffer: 2 ** 28 };
  return new Promise((resolve) => {
    execFile(process.execPath, args, options, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });
}

async function checkAll(folder) {
  await check('doctor', async () => {
    const { model, stats, speed, problem } = await doctor(demo, '--gpu', gpu);
    expect(stats?.backend === gpu, problem);
    expect(model.layers + 1 === layers, `${model.layers} layers`);
    expect(stats.gpuLayers === layers && model.cards.join() === card.names.join(), JSON.stringify({ stats, model }));
    const { weights, slots } = model.memory;
    expect(weights.vram > 0 && slots.vram > 0, JSON.stringify(model.memory));
    return (
      `${stats.gpuLayers} of ${layers} layers, ${megabytes(weights.vram)} of weights and ${megabytes(slots.vram)} of ` +
      `slots on ${model.cards.join()}; ${Math.round(speed.decodePerSecond)} tokens/s`
    );
  });

  let allBytes = 0;
  await check('all layers', () =>
    onServer({}, async (client) => {
      const info = await load(client, demo);
      expect(info.backend === gpu && info.gpuLayers === layers && info.vramBytes > 0, JSON.stringify(info));
      allBytes = info.vramBytes;
      return `${info.gpuLayers} layers, ${megabytes(info.vramBytes)} on the card; ${await converse(client, demo)}`;
    }),
  );
  await check('half of the layers', () =>
    onServer({ 'gpu-layers': layers / 2 }, async (client) => {
      const info = await load(client, demo);
      expect(info.backend === gpu && info.gpuLayers === layers / 2, JSON.stringify(info));
      expect(info.vramBytes > 0 && info.vramBytes < allBytes, JSON.stringify(info));
      return `${info.gpuLayers} layers, ${megabytes(info.vramBytes)} on the card; ${await converse(client, demo)}`;
    }),
  );
  await check('device', async () => {
    const bytes = await onServer({ 'gpu-device': 0 }, async (client) => (await load(client, demo)).vramBytes);
    expect(bytes > 0, `${bytes} bytes on the card`);
    const refusal = await onServer({ 'gpu-device': 63 }, (client) => client.loadModel(demo).catch((fault) => fault));
    expect(refusal?.message?.includes('--gpu-device 63: there is no such graphics card'), refusal?.message);
    return `0 has ${megabytes(bytes)}; 63 is refused: ${refusal.message}`;
  });
  await checkFullCard(folder);
  await check('contract of engines', testContract);
  await check('speed', compareSpeeds);
}

/** Whether the software device of Mesa stands in for a card. Of some hundred processes that computed on it two crashed. */
function isSoftware() {
  return card.names.some((name) => name.startsWith('llvmpipe'));
}

function doctor(model, ...flags) {
  return runTurngraph('doctor', model, '--quick', '--json', ...flags);
}

async function onServer(flags, use) {
  const server = await startServer({ flags: { gpu, ...flags } });
  try {
    const client = await server.connect('proto');
    const result = await use(client);
    await client.close();
    return result;
  } finally {
    await server.stop();
  }
}

async function load(client, name) {
  await client.loadModel(name);
  const { models } = await client.request('listModels', { pageToken: '' });
  return models.find((model) => model.name === name);
}

/** A model whose context is larger than what is free on the card, and one for whose four slots it has no room. */
async function checkFullCard(folder) {
  const shape = { ...shapes.tiny, layers: 48, width: 256, heads: 4, kvHeads: 4 };
  const bytesPerToken = shape.layers * shape.width * 2 * 2;
  // Not longer: the library estimates the whole of it, and llama.cpp ends a process for a tensor that a card cannot bind.
  const contextLength = Math.ceil((2 * card.freeBytes) / bytesPerToken);
  const file = 'wide.gguf';
  await writeRandomModel(join(folder, file), { ...shape, contextLength });
  const entry = (name, bytes) => ({
    name,
    default_sampling: { max_tokens: 8 },
    variants: [
      { engine: 'llama-cpp', local_path: folder, files: [file], context_size: Math.ceil(bytes / bytesPerToken) },
    ],
  });
  const models = [entry('too wide', 1.1 * card.freeBytes), entry('wide', 0.35 * card.freeBytes)];
  const catalogue = join(folder, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models }));
  const needed = 0.5 * card.freeBytes;
  const { machine } = await runTurngraph('models', 'suggest', '--json', '--gpu', 'off');
  if (machine.freeRam < needed)
    console.log(`--   full card: not checked: the rest of a context for it needs ${megabytes(needed)} of RAM`);
  else {
    await check('full card', () =>
      onServer({ catalogue, slots: 1 }, async (client) => {
        const info = await load(client, 'too wide');
        expect(info.gpuLayers <= shape.layers, JSON.stringify(info));
        return `${info.gpuLayers} of ${shape.layers + 1} layers; ${await warningOf(client, 'too wide')}`;
      }),
    );
    await check('full card with --gpu-layers', () =>
      onServer({ catalogue, slots: 1, 'gpu-layers': shape.layers + 1 }, async (client) => {
        const refusal = await client.loadModel('too wide').catch((fault) => fault);
        expect(refusal?.code === 6009 && refusal.message.includes('lower --gpu-layers'), refusal?.message);
        return refusal.message;
      }),
    );
  }
  await check('room for fewer slots', () =>
    onServer({ catalogue }, async (client) => {
      const { gpuLayers, slots, contextSize, vramBytes } = await load(client, 'wide');
      expect(gpuLayers === shape.layers + 1 && slots < 4, `${gpuLayers} layers, ${slots} slots`);
      return `${gpuLayers} layers, ${slots} slots of ${contextSize} tokens, ${megabytes(vramBytes)} on the card`;
    }),
  );
}

/** What an agent is told of how its model runs, which then answers. */
async function warningOf(client, model) {
  const agent = await client.createAgent({ graphName: 'chat', defaultModelName: model });
  const { stopReason } = await agent.send('Hello!').done;
  const warning = agent.warnings.find((text) => text.includes('on the CPU'));
  expect(warning !== undefined && stopReason === 'LENGTH', `warnings: ${agent.warnings.join()}; ${stopReason}`);
  return warning;
}

/** The contract of engines; on a software device, which takes minutes for it, that of scores and embeddings. */
async function testContract() {
  const files = ['engine.test.ts', 'processEngine.slow.test.ts', 'embedding.test.ts'];
  const wanted = `the llama-cpp ${isSoftware() ? 'engine (?:when it scores|with an embedding)' : ''}`;
  const paths = files.map((file) => `test/contracts/${file}`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', ...paths, '-t', wanted, '--reporter', 'json'];
  const { code, out, err } = await run(args, { TURNGRAPH_TEST_GPU: gpu });
  expect(out.startsWith('{'), out + err);
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(out);
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed');
  const told = failed.map(({ fullName, failureMessages: [why = ''] }) => `${fullName}: ${why.slice(0, 500)}`);
  expect(numFailedTests === 0 && numPassedTests > 0, `${numPassedTests} passed, failed:\n${told.join('\n')}`);
  // A test process that crashes fails no test.
  expect(code === 0, `${numPassedTests} passed, then ${crash}: ${err.slice(-500)}`);
  return `${numPassedTests} tests of ${wanted}`;
}

async function compareSpeeds() {
  const model = values['speed-model'] ?? demo;
  const onCard = await doctor(model, '--gpu', gpu);
  const onCpu = await doctor(model, '--gpu', 'off');
  expect(onCard.speed && onCpu.speed, onCard.problem + onCpu.problem);
  const compare = (key) => {
    const [one, other] = [onCard.speed[key], onCpu.speed[key]];
    return `${Math.round(one)} / ${Math.round(other)} tokens/s = ${(one / other).toPrecision(3)}`;
  };
  return (
    `${onCard.model.parameters / 1e6} million parameters, ${gpu} / CPU (${onCpu.stats.threads} of ` +
    `${availableParallelism()} threads): prefill ${compare('prefillPerSecond')}, decode ${compare('decodePerSecond')}`
  );
}
