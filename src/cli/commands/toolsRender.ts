import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../../agent/agent.ts';
import { parseHistory } from '../../agent/history.ts';
import type { Emit } from '../../agent/runningTurn.ts';
import { limitsOf } from '../../limits.ts';
import type { Interaction, Prompt } from '../../dialog.ts';
import type { Model } from '../../engine/engine.ts';
import { loadExtension } from '../../extensions.ts';
import { graphSchema, describeGraphPointer, type GraphDocument } from '../../graph/document.ts';
import { ModelPool } from '../../models/pool/pool.ts';
import { registryWith } from '../../nodes/index.ts';
import { createReader } from '../../schema.ts';
import { didYouMean } from '../../didYouMean.ts';
import { StorageRoot } from '../../storage/storageRoot.ts';
import { SessionStorages } from '../../storage/sessionStorages.ts';
import { addVariable } from '../withAgent.ts';
import { findGraph } from '../findGraph.ts';
import { readJsonFile } from '../jsonFile.ts';
import { localCatalogue } from '../localCatalogue.ts';
import { serverFlags, serverOptions, UsageError } from '../options.ts';
import { captureOptions, capturePrompts } from '../promptCapture.ts';
import { findPromptSource, type PromptSourceFlags } from '../promptSource.ts';

interface RenderFlags extends PromptSourceFlags {
  readonly graph: string;
  readonly node: string;
  readonly message: string;
  readonly history?: string;
  readonly format?: string;
  readonly var: Readonly<Record<string, string>>;
  readonly [serverFlag: string]: unknown;
}

/** `turngraph tools render`: prints the prompt of a node. */
export const toolsRenderCommand = (): Command =>
  serverFlags(
    new Command('render')
      .description('print the prompt of a node as its model gets it')
      .requiredOption('--graph <graph>', 'a graph file, or a name in the graphs folder')
      .requiredOption('--node <name>', 'the node')
      .requiredOption('--message <text>', 'the user message')
      .option(
        '--history <file>',
        'the dialog before the message: what exportDialog gave, or a list of {user, assistant}',
      )
      .option('--format <name>', 'tool-call format, instead of that of the node')
      .option('--model <name>', 'model whose chat template is used, instead of that of the graph; must be on disk')
      .option('--template <file>', 'a chat template (Jinja) that is used in place of a model')
      .option('--var <name=value>', 'a variable for templates; can be repeated', addVariable, {}),
    ['graphs', 'catalogue', 'models', 'extend', 'storageRoot', 'engineProcess'],
  ).action(render);

async function render(flags: RenderFlags): Promise<void> {
  const options = serverOptions({ ...flags });
  const catalogue = await localCatalogue(options);
  const history = flags.history === undefined ? [] : await readHistory(flags.history);
  const { path } = await findGraph(flags.graph, options.graphs);
  const { graph, modelName } = isolateNode(await readGraph(path), flags);
  let prompts = 0;
  const source = await findPromptSource(flags, { options, catalogue, modelName });
  const onPrompt = async (prompt: Prompt, model: Model): Promise<void> => {
    prompts++;
    process.stdout.write(await source.render(prompt, model));
  };
  const engine = capturePrompts(source.engine, onPrompt, source.toolDialect);
  await using pool = new ModelPool(engine, { ...captureOptions, catalogue: source.catalogue, idleMs: 0 });
  await using agent = await Agent.create({
    id: 1,
    graph,
    registry: registryWith(await loadExtension(options.extend)),
    pool,
    defaultModelName: flags.model ?? '',
    diagnostics: false,
    maxSteps: 1,
    history,
    storages: new SessionStorages(new StorageRoot(options.storageRoot || dirname(path)), Infinity),
    limits: limitsOf(options),
    turnTimeoutMs: options.turnTimeout * 1000,
  });
  for (const warning of agent.warnings) process.stderr.write(`warning: ${warning}\n`);
  const fault = await agent.send(flags.message, flags.var, { emit: warnOfTurn, backpressure: () => undefined });
  if (fault) throw fault;
  if (prompts === 0) throw new Error(`"${flags.node}" asks no model for this message`);
  if (process.stdout.isTTY) process.stdout.write('\n');
}

async function readHistory(path: string): Promise<readonly Interaction[]> {
  const text = await readFile(path, 'utf8');
  // An empty file is a mistake; to the wire, "" is no history.
  return parseHistory(text === '' ? ' ' : text, `${path}: history`);
}

const warnOfTurn: Emit = (body, frame) => {
  if (body !== 'turnComplete' || !('interactionsDropped' in frame)) return;
  for (const warning of frame.warnings) process.stderr.write(`warning: ${warning}\n`);
  if (frame.interactionsDropped > 0)
    process.stderr.write(`warning: the prompt leaves out the oldest ${frame.interactionsDropped} interactions\n`);
};

async function readGraph(path: string): Promise<GraphDocument> {
  const file = await readJsonFile(path);
  if (file.syntaxError !== undefined) throw new Error(file.syntaxError);
  const reading = createReader(graphSchema)(JSON.parse(file.text));
  if (reading.ok) return reading.value;
  const sentences = reading.errors.map(
    ({ pointer, message }) => `${file.positionOf(pointer)}: ${describeGraphPointer(pointer)} ${message}`,
  );
  throw new Error(sentences.join('\n'));
}

/**
 * Reduces a graph to one node, with its parameters overridden by the flags; also returns the model that the node then
 * uses.
 */
function isolateNode(
  graph: GraphDocument,
  { node: name, format, model }: RenderFlags,
): { readonly graph: GraphDocument; readonly modelName: string } {
  const node = graph.nodes[name];
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const ownParams: Readonly<Record<string, unknown>> = node.params;
  const params = {
    ...ownParams,
    ...(format !== undefined && { tool_call_format: format }),
    ...(model !== undefined && 'model_name' in ownParams && { model_name: model }),
  };
  const named = typeof ownParams['model_name'] === 'string' ? ownParams['model_name'] : '';
  return {
    graph: { ...graph, start_node: name, nodes: { [name]: { ...node, params, exits: {} } } },
    modelName: model ?? (named || graph.default_model_name),
  };
}
