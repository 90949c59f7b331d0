import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../../graph/agent/agent.ts';
import { parseHistory } from '../../graph/agent/history.ts';
import type { Emit } from '../../graph/agent/turnOptions.ts';
import { limitsOf } from '../../server/config.ts';
import type { Interaction, Prompt } from '../../chat/dialog.ts';
import { renderPrompt } from '../../chat/template/renderPrompt.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import type { ToolSelection } from '../../graph/compile/turn.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import { addVariable } from '../withAgent.ts';
import { findGraph, readGraph } from '../findGraph.ts';
import { localCatalogue } from '../catalogue.ts';
import { serverFlags, serverOptions, UsageError } from '../options.ts';
import {
  answerOptions,
  captureLease,
  captureOptions,
  findPromptSource,
  type PromptSourceFlags,
} from '../promptSource.ts';
import { promptGraph, promptRegistry, type PromptGraph, type PromptOptions } from '../promptGraph.ts';
import { withoutMark } from '../../base/jsonLocations.ts';

interface RenderFlags extends PromptOptions, PromptSourceFlags {
  readonly graph: string;
  readonly message: string;
  readonly history?: string;
  readonly tokens?: boolean;
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
      .option('--var <name=value>', 'a variable of the message; can be repeated', addVariable, {})
      .option(
        '--guideline <name>',
        'a guideline that holds, instead of those that the graph finds; can be repeated',
        (name: string, names: readonly string[]) => [...names, name],
        [],
      )
      .option('--tokens', 'print to standard error how many tokens the prompt has; needs a model'),
    ['graphs', 'catalogue', 'models', 'extend', 'storageRoot', 'engineProcess'],
  ).action(render);

async function render(flags: RenderFlags): Promise<void> {
  const options = serverOptions({ ...flags });
  const catalogue = await localCatalogue(options);
  const history = flags.history === undefined ? [] : await readHistory(flags.history);
  const { path } = await findGraph(flags.graph, options.graphs);
  const registry = registryWith(await loadExtension(options.extend));
  const part = promptGraph(await readGraph(path), flags, registry);
  const { selector } = part;
  for (const name of part.withModel)
    warn(`"${name}" does not run here, because it needs a model: the prompt has nothing of it`);
  const source = await findPromptSource(flags, options, catalogue, part.modelName);
  const canAnswer = source.template === undefined;
  if (flags.tokens && !canAnswer) throw new UsageError('--tokens needs a model on disk; name one with --model');
  const loading = canAnswer && selector !== undefined ? answerOptions : captureOptions;
  await using pool = new ModelPool(source.engine, { ...loading, catalogue, idleMs: 0 });
  const captured: { readonly prompt: Prompt; readonly model: Model }[] = [];
  let selection: ToolSelection | undefined;
  const replaceLease = (lease: ModelLease, nodeName: string): ModelLease => {
    if (nodeName === selector && canAnswer) return lease;
    return captureLease(lease, source, (prompt) => {
      if (nodeName === selector) throw new UsageError(undecided(selector));
      captured.push({ prompt, model: lease.model });
    });
  };
  const onSelection = (selected: ToolSelection | undefined): void => {
    selection = selected;
    process.stderr.write(`${selectionLine(selector ?? '', selected)}\n`);
  };
  await using agent = await Agent.create({
    id: 1,
    graph: part.graph,
    registry: promptRegistry(registry, part, replaceLease, onSelection),
    isPart: true,
    pool,
    defaultModelName: flags.model ?? '',
    history,
    storages: new SessionStorages(new StorageRoot(options.storageRoot || dirname(path)), Infinity),
    limits: limitsOf(options),
    turnTimeoutMs: options.turnTimeout * 1000,
  });
  agent.warnings.forEach(warn);
  const fault = await agent.send(flags.message, flags.var, { emit: warnOfTurn, backpressure: () => undefined });
  for (const { prompt, model } of captured) {
    process.stdout.write(source.template ? renderPrompt(prompt, source.template) : await model.render(prompt));
    if (flags.tokens) process.stderr.write(`\nabout ${await countTokens(prompt, model)} tokens\n`);
  }
  if (fault) throw fault.cause instanceof UsageError ? fault.cause : fault;
  if (captured.length === 0)
    throw new Error(`"${flags.node}" asks no model for this message${whyNot(part, selection)}`);
  if (process.stdout.isTTY) process.stdout.write('\n');
}

const undecided = (selector: string): string =>
  `"${selector}" lets a model decide which guidelines hold, and there is none; name them with --guideline, or a model on disk with --model`;

const warn = (warning: string): void => void process.stderr.write(`warning: ${warning}\n`);

function selectionLine(selector: string, selection: ToolSelection | undefined): string {
  const tools = selection?.tools.map(({ name, because }) => `${name} (${because})`) ?? [];
  return `"${selector}" selects ${tools.length > 0 ? tools.join(', ') : 'no tool'}`;
}

function whyNot({ needsSelection, selector }: PromptGraph, selection: ToolSelection | undefined): string {
  if (!needsSelection) return '';
  if (selector === undefined) return ': it offers only selected tools, and no node that selects any leads to it';
  const isEmpty = selection === undefined || selection.tools.length === 0;
  return isEmpty
    ? `: no tool is selected for it; name the guidelines that hold with --guideline`
    : ': of its tools none is offered in this turn';
}

/** The number of tokens of a prompt, as a turn estimates whether it fits. */
async function countTokens({ messages, tools }: Prompt, model: Model): Promise<number> {
  // A text is counted to the size of the context, which is small here: so long ones are counted in pieces.
  const counts = await model.count(messages.flatMap(({ text }) => text.match(/[^]{1,2000}(?!\S)|[^]{1,2000}/g) ?? []));
  const { prompt, message } = model.overhead;
  const toolTokens = tools ? await model.countTools(tools) : 0;
  return counts.reduce((sum, count) => sum + count, prompt + messages.length * message + toolTokens);
}

async function readHistory(path: string): Promise<readonly Interaction[]> {
  const text = withoutMark(await readFile(path, 'utf8'));
  // An empty file is a mistake; to the wire, "" is no history.
  return parseHistory(text === '' ? ' ' : text, `${path}: history`);
}

const warnOfTurn: Emit = (body, frame) => {
  if (body !== 'turnComplete' || !('interactionsDropped' in frame)) return;
  frame.warnings.forEach(warn);
  if (frame.interactionsDropped > 0) warn(`the prompt leaves out the oldest ${frame.interactionsDropped} interactions`);
};
