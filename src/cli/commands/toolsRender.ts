import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../../agent/agent.ts';
import { limitsOf } from '../../config.ts';
import { insertTools, type Prompt } from '../../dialog.ts';
import type { Engine } from '../../engine/engine.ts';
import { probeChatTemplate } from '../../engine/llama/prompt/chatTemplate.ts';
import { mockEngine } from '../../engine/mock/engine.ts';
import { loadExtension } from '../../extensions.ts';
import { graphSchema, describeGraphPointer, type GraphDocument } from '../../graph/document.ts';
import { ModelPool } from '../../models/pool/pool.ts';
import { registryWith } from '../../nodes/index.ts';
import { createReader } from '../../schema.ts';
import { didYouMean } from '../../didYouMean.ts';
import { StorageRoot } from '../../storage/storageRoot.ts';
import { SessionStorages } from '../../storage/sessionStorages.ts';
import { addVariable } from '../withAgent.ts';
import { readGraphFile } from '../graphFile.ts';
import { isOnDisk, localCatalogue } from '../localCatalogue.ts';
import { serverFlags, serverOptions, UsageError } from '../options.ts';
import { captureOptions, capturePrompts } from '../promptCapture.ts';

interface RenderFlags {
  readonly graph: string;
  readonly node: string;
  readonly message: string;
  readonly format?: string;
  readonly model?: string;
  readonly var: Readonly<Record<string, string>>;
  readonly [serverFlag: string]: unknown;
}

/** `turngraph tools render` */
export const toolsRenderCommand = (): Command =>
  serverFlags(
    new Command('render')
      .description('print the prompt of a node as its model will see it')
      .requiredOption('--graph <file>', 'a graph file')
      .requiredOption('--node <name>', 'the node whose prompt it is')
      .requiredOption('--message <text>', 'what the user says')
      .option('--format <name>', 'tool-call format, instead of the one that the node gets')
      .option('--model <name>', "model whose chat template is used, instead of the graph's; it must be on disk")
      .option('--var <name=value>', 'a variable for templates; may be given again', addVariable, {}),
    ['catalogue', 'models', 'extend', 'storageRoot'],
  ).action(render);

async function render(flags: RenderFlags): Promise<void> {
  const options = serverOptions({ ...flags });
  const catalogue = await localCatalogue(options);
  const { graph, modelName } = alone(await readGraph(flags.graph), flags);
  const onDisk = flags.model !== undefined || isOnDisk(catalogue, modelName);
  if (!onDisk) process.stderr.write(`${missing(modelName)}, so this is our own wording in ChatML\n`);
  let shown = 0;
  const engine = capturePrompts(onDisk ? await llama() : mockEngine(), async (prompt, model) => {
    shown++;
    process.stdout.write(onDisk ? await model.render(prompt) : inChatml(prompt));
  });
  await using pool = new ModelPool(engine, { ...captureOptions, catalogue, idleMs: 0 });
  await using agent = await Agent.create({
    id: 1,
    graph,
    registry: registryWith(await loadExtension(options.extend)),
    pool,
    defaultModelName: flags.model ?? '',
    diagnostics: false,
    maxSteps: 1,
    history: [],
    storages: new SessionStorages(new StorageRoot(options.storageRoot || dirname(flags.graph)), Infinity),
    limits: limitsOf(options),
    turnTimeoutMs: options.turnTimeout * 1000,
  });
  for (const warning of agent.warnings) process.stderr.write(`warning: ${warning}\n`);
  const fault = await agent.send(flags.message, flags.var, { emit: () => undefined, backpressure: () => undefined });
  if (fault) throw fault;
  if (shown === 0) throw new Error(`"${flags.node}" asks no model for this message`);
  if (process.stdout.isTTY) process.stdout.write('\n');
}

async function readGraph(path: string): Promise<GraphDocument> {
  const file = await readGraphFile(path);
  if (file.syntax !== undefined) throw new Error(file.syntax);
  const reading = createReader(graphSchema)(JSON.parse(file.text));
  if (reading.ok) return reading.value;
  const sentences = reading.errors.map(
    ({ pointer, message }) => `${file.at(pointer)}: ${describeGraphPointer(pointer)} ${message}`,
  );
  throw new Error(sentences.join('\n'));
}

/** A graph of one of its nodes alone, with what the flags set in its parameters, and the model it then names. */
function alone(
  graph: GraphDocument,
  { node: name, format, model }: RenderFlags,
): { readonly graph: GraphDocument; readonly modelName: string } {
  const node = graph.nodes[name];
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const given: Readonly<Record<string, unknown>> = node.params;
  const params = {
    ...given,
    ...(format !== undefined && { tool_call_format: format }),
    ...(model !== undefined && 'model_name' in given && { model_name: model }),
  };
  const named = typeof given['model_name'] === 'string' ? given['model_name'] : '';
  return {
    graph: { ...graph, start_node: name, nodes: { [name]: { ...node, params, exits: {} } } },
    modelName: model ?? (named || graph.default_model_name),
  };
}

const missing = (modelName: string): string =>
  modelName === '' ? 'no model is named' : `"${modelName}" is not on disk`;

// The library takes its time to load, and what needs no model does without.
async function llama(): Promise<Engine> {
  const { llamaEngine } = await import('../../engine/llama/engine.ts');
  return llamaEngine();
}

function inChatml(prompt: Prompt): string {
  const layout = probeChatTemplate(undefined, { bos: '', eos: '' });
  return layout.render(layout.normalizeMessages(insertTools(prompt)));
}
