import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../../graph/agent/agent.ts';
import { parseHistory } from '../../graph/agent/history.ts';
import type { Emit } from '../../graph/agent/turnOptions.ts';
import type { Interaction, Prompt } from '../../chat/dialog.ts';
import { renderPrompt } from '../../chat/template/renderPrompt.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import type { ToolSelection } from '../../graph/compile/turn.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import type { ChooseModel } from '../../inference/models/suggestions/chooseModel.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { openStorages } from '../checkedGraphs.ts';
import { addVariable } from '../withAgent.ts';
import { findGraph, readGraph } from '../findGraph.ts';
import { localCatalogue } from '../catalogue.ts';
import { chooserFor } from '../machine.ts';
import { serverFlags, serverOptions, UsageError, type ServerFlags } from '../options.ts';
import type { PromptSourceFlags } from '../promptSource.ts';
import { answerOptions, captureLease, captureOptions, findPromptSource } from '../promptSource.ts';
import { readTextFile } from '../../base/filesystem.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { withMembers } from '../../base/withMembers.ts';
import { isStated } from '../../graph/compile/analysis.ts';
import { checkDocument } from '../../graph/compile/compile.ts';
import type { GraphDocument } from '../../graph/compile/document.ts';
import { modelNamesIn } from '../../graph/compile/modelNames.ts';
import type { Node, NodeContext } from '../../graph/compile/node.ts';
import type { NodeParams, RegisteredType, Registry } from '../../graph/compile/registry.ts';

interface RenderFlags extends PromptOptions, PromptSourceFlags, ServerFlags {
  readonly graph: string;
  readonly message: string;
  readonly history?: string;
  readonly tokens?: boolean;
  readonly var: Readonly<Record<string, string>>;
}

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
    ['graphs', 'catalogue', 'models', 'cache', 'slots', 'gpu', 'extend', 'storageRoot', 'engineProcess'],
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
  const chooser = chooserFor(options, catalogue);
  // Without a model that can be used, a prompt is in our own wording.
  const choose: ChooseModel = (names, failed) =>
    chooser(names, failed).catch(() => ({ name: names[0] ?? '', reason: '' }));
  const { modelNames } = part;
  const name = typeof modelNames === 'string' ? modelNames : (await choose(modelNames, new Map())).name;
  const source = await findPromptSource(flags, options, catalogue, name);
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
    choose,
    defaultModelName: flags.model ?? '',
    history,
    storages: openStorages(options.storageRoot || dirname(path)),
    limits: options,
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

async function countTokens({ messages, tools }: Prompt, model: Model): Promise<number> {
  // A text is counted to the size of the context, which is small here: so long ones are counted in pieces.
  const counts = await model.count(messages.flatMap(({ text }) => text.match(/[^]{1,2000}(?!\S)|[^]{1,2000}/g) ?? []));
  const { prompt, message } = model.overhead;
  const toolTokens = tools ? await model.countTools(tools) : 0;
  return counts.reduce((sum, count) => sum + count, prompt + messages.length * message + toolTokens);
}

async function readHistory(path: string): Promise<readonly Interaction[]> {
  const text = await readTextFile(path);
  // An empty file is a mistake; to the wire, "" is no history.
  const saved = parseHistory(text === '' ? ' ' : text, `${path}: history`);
  // The prompt is that of the mode AUTO: in MANUAL there is none.
  return saved.map(({ agent, ...rest }) => (agent ? { ...rest, agent: { ...agent, mode: 'AUTO' } } : rest));
}

const warnOfTurn: Emit = (body, frame) => {
  if (body !== 'turnComplete' || !('interactionsDropped' in frame)) return;
  frame.warnings.forEach(warn);
  if (frame.interactionsDropped > 0) warn(`the prompt leaves out the oldest ${frame.interactionsDropped} interactions`);
};

interface PromptOptions {
  readonly node: string;
  readonly format?: string;
  readonly model?: string;
  /** The guidelines that hold; [] = those that the node that selects tools finds. */
  readonly guideline: readonly string[];
}

type PromptGraph = ReturnType<typeof promptGraph>;

type GraphNode = GraphDocument['nodes'][string];
type Params = Readonly<Record<string, unknown>>;

/**
 * Reduces a graph to one node, to those that find knowledge for it without a model, and to the nearest node that selects tools
 * before it where its prompt needs a selection. The others only declare their names.
 * @throws UsageError for a node or a guideline that is not there.
 */
function promptGraph(graph: GraphDocument, options: PromptOptions, registry: Registry) {
  const { node: name, format, model, guideline } = options;
  const node = Object.hasOwn(graph.nodes, name) ? graph.nodes[name] : undefined;
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const own: Params = node.params;
  const params = { ...withModel(own, model), ...(format !== undefined && { tool_call_format: format }) };
  const nodes = new Map(Object.entries(graph.nodes)).set(name, { ...node, params });
  const { plans } = checkDocument({ ...graph, nodes: Object.fromEntries(nodes) }, [...nodes.keys()], registry);
  const effectsOf = (other: string) => {
    const plan = plans.get(other);
    return plan?.type.effects(plan.params, plan.exits);
  };
  const before = nodesBefore(graph, name);
  const needsSelection = isStated(effectsOf(name)?.needsSelection);
  const isSelecting = (other: string): boolean => isStated(effectsOf(other)?.selects);
  const selector = needsSelection || guideline.length > 0 ? before.find(isSelecting) : undefined;
  const selecting = graph.nodes[selector ?? ''];
  if (selector !== undefined && selecting) nodes.set(selector, selectingNode(selector, selecting, options));
  else if (guideline.length > 0)
    throw new UsageError(
      `no node that selects tools leads to "${name}", so it has no guidelines; leave --guideline out`,
    );
  const finders = [...plans]
    .filter(([other, plan]) => before.includes(other) && plan.type.knowledgeSource(plan.params, other) !== undefined)
    .map(([other]) => other);
  const needsModel = (finder: string): boolean => effectsOf(finder)?.infers !== false;
  const found = finders.filter((finder) => !needsModel(finder));
  const running = [...found, ...(selector === undefined ? [] : [selector]), name];
  // Those that have faults declare nothing; of the nodes that run, the agent tells them.
  const kept = [...nodes].filter(([other]) => plans.has(other) || running.includes(other));
  // Of a node that does not run it does not matter where it leads.
  const leadOn = ([other, given]: readonly [string, GraphNode]) =>
    [other, { ...given, exits: { [onlyExit]: running[running.indexOf(other) + 1] ?? '' } }] as const;
  return {
    graph: { ...graph, start_node: running[0] ?? name, nodes: Object.fromEntries(kept.map(leadOn)) },
    /** The nodes that run, in their order. */
    running,
    /** The model that the node uses, or a list; "" = none is named. */
    modelNames: model ?? (modelNamesIn(own['model_name']) || graph.default_model_name),
    /** The node that selects tools before it; undefined: none does. */
    selector,
    /** Whether the node offers only selected tools. */
    needsSelection,
    /** The nodes before it that find knowledge for it with a model: they do not run. */
    withModel: finders.filter(needsModel),
  };
}

/**
 * The node types of a prompt graph: of a node that does not run only the names that it declares count.
 * @param replaceLease gives the lease that a node gets in place of its own.
 * @param onSelection gets what the node that selects tools has selected.
 */
function promptRegistry(
  registry: Registry,
  { running, selector }: PromptGraph,
  replaceLease: (lease: ModelLease, nodeName: string) => ModelLease,
  onSelection: (selection: ToolSelection | undefined) => void,
): Registry {
  const createWith = async (type: RegisteredType, params: NodeParams, context: NodeContext): Promise<Node> => {
    const { nodeName } = context;
    if (!running.includes(nodeName)) return { run: async () => onlyExit };
    const model: NodeContext['model'] = async (...wanted) => replaceLease(await context.model(...wanted), nodeName);
    const node = await type.create(params, { ...context, model });
    return withMembers(node, {
      async run(turn) {
        await node.run(turn);
        if (nodeName === selector) onSelection(turn.selection);
        return onlyExit;
      },
    });
  };
  const typeOf = (type: RegisteredType): RegisteredType => ({
    ...type,
    fixedExits: [onlyExit],
    exits: () => [onlyExit],
    create: (params, context) => createWith(type, params, context),
  });
  return new Map([...registry].map(([name, type]) => [name, typeOf(type)]));
}

// Whatever a node finds out, the next one runs.
const onlyExit = 'next';

/** The nodes that lead to a node, nearest first. */
function nodesBefore({ nodes }: GraphDocument, target: string): readonly string[] {
  const found = new Set([target]);
  for (const reached of found)
    for (const [name, { exits }] of Object.entries(nodes)) if (Object.values(exits).includes(reached)) found.add(name);
  return [...found].slice(1);
}

/** The node that selects tools; where guidelines are named, it has only these, and they hold. */
function selectingNode(name: string, node: GraphNode, { guideline: chosen, model }: PromptOptions): GraphNode {
  const params: Params = node.params;
  if (chosen.length === 0) return { ...node, params: withModel(params, model) };
  const { guidelines } = params;
  const entries = Array.isArray(guidelines) ? guidelines.filter(isObject) : [];
  const names = entries.map((entry) => String(entry['name']));
  for (const each of chosen)
    if (!names.includes(each)) throw new UsageError(`"${name}" has no guideline "${each}"${didYouMean(each, names)}`);
  // The empty text begins every message.
  const held = entries
    .filter((entry) => chosen.includes(String(entry['name'])))
    .map((entry) => ({ ...entry, patterns: ['^'] }));
  return { ...node, params: { ...withModel(params, ''), guidelines: held, match: 'patterns' } };
}

const withModel = (params: Params, model: string | undefined): Params =>
  model !== undefined && 'model_name' in params ? { ...params, model_name: model } : params;
