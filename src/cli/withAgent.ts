import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
import { type AgentHandle, type Client, connect, type ConnectionChange } from '../client/index.ts';
import { maxTimeoutMs } from '../client/options.ts';
import { engineNames } from '../server/session/session.ts';
import { findGraph, isFile, readValidJson } from './findGraph.ts';
import { assertModelName, findModelFile } from './catalogue.ts';
import { engineOptions, ownServerOptions, serverFlags, UsageError, type ServerFlags } from './options.ts';
import { startOwnServer } from './ownServer.ts';
import { readResultsFile, type CallAnswerer } from './callAnswers.ts';

/** Flags of the commands that use an agent: chat and run. */
export interface AgentFlags extends ServerFlags {
  readonly url?: string;
  readonly engine?: string;
  readonly model?: string;
  readonly diagnostics?: boolean;
  readonly var?: Readonly<Record<string, string>>;
  readonly results?: string;
}

/** An agent, its client, the variables of `--var`, and the results of `--results`. */
export interface AgentSession {
  readonly client: Client;
  readonly agent: AgentHandle;
  readonly variables: Readonly<Record<string, string>>;
  readonly results: CallAnswerer | undefined;
}

/** Adds the argument GRAPH and the flags of `withAgent` to a command. */
export function agentFlags(command: Command): Command {
  command
    .argument('<graph>', 'a graph file, or the name of one in the graphs folder')
    .option('--url <url>', 'a running server; without it the command starts its own')
    .addOption(new Option('--engine <name>', 'engine that runs the models').choices(engineNames))
    .option('--model <name>', 'model of the nodes that name none: a name in the catalogue, or a .gguf file')
    .option('--diagnostics', 'ask for events and debug info')
    .option(
      '--var <name=value>',
      'a variable of the message, for templates and enum_from; can be repeated',
      addVariable,
      {},
    )
    .option(
      '--results <file>',
      'results of calls that a turn waits for: a JSON list of {tool, arguments, ok, content, lifespan}',
    );
  const names = 'token graphs catalogue models cache cacheLimit extend storageRoot mockScript'.split(' ');
  return serverFlags(command, [...names, ...engineOptions]);
}

/** Runs `use` with an agent of a graph, on the server of `--url` or its own; disposes of all of it afterwards. */
export async function withAgent(
  graph: string,
  flags: AgentFlags,
  use: (session: AgentSession) => Promise<void>,
): Promise<void> {
  const { url: remoteUrl, model = '' } = flags;
  const results = flags.results === undefined ? undefined : await readResultsFile(flags.results);
  const settings = ownServerOptions({ ...flags, slots: 1 });
  if (remoteUrl !== undefined) assertModelName(model);
  // The server of --url has a graphs folder of its own.
  const isName = remoteUrl === undefined ? (await findGraph(graph, settings.graphs)).isName : !isFile(graph);
  const modelFile = remoteUrl === undefined ? await findModelFile(model, settings) : undefined;
  // As in `check`: the storage files of a graph file are in its folder.
  const options = { ...settings, storageRoot: settings.storageRoot || (isName ? '' : dirname(graph)) };
  const extraModels = modelFile ? [modelFile] : [];
  await using server = remoteUrl === undefined ? await startOwnServer(options, { extraModels }) : undefined;
  const url = remoteUrl ?? server?.url ?? '';
  await using client = await connect(url, {
    ...(options.token !== '' && { token: options.token }),
    // The flags of its own server limit the time of turns.
    ...(server && { limits: { idleTimeoutMs: maxTimeoutMs } }),
    onConnectionChange: tellChange,
  });
  // --mock-script implies the mock engine.
  await client.configure({ engine: flags.engine ?? (options.mockScript === '' ? '' : 'mock') });
  await using agent = await client.createAgent({
    ...(isName ? { graphName: graph } : { graph: (await readValidJson(graph)).text }),
    defaultModelName: modelFile?.name ?? model,
    enableDiagnostics: flags.diagnostics ?? false,
  });
  for (const warning of agent.warnings) process.stderr.write(`warning: ${warning}\n`);
  await use({ client, agent, variables: flags.var ?? {}, results });
}

/** Parses `name=value` of a repeatable option, and adds it to the values so far. @throws UsageError */
export function addVariable(text: string, others: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [name = '', ...value] = text.split('=');
  if (value.length === 0) throw new UsageError(`--var ${text} must be name=value`);
  return { ...others, [name]: value.join('=') };
}

function tellChange(change: ConnectionChange): void {
  const tell = (line: string): void => void process.stderr.write(`-- ${line}\n`);
  if (change.state === 'lost') tell(`connection lost (${change.code})`);
  else if (change.state === 'resumed')
    tell(`resumed: the server repeats ${change.replayed} frames, and ${change.resent} requests were sent again`);
  else if (change.attempt === 1) tell(`reconnecting: ${change.reason}`);
}
