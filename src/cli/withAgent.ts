import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Option, type Command } from 'commander';
import { connect, type AgentHandle, type Client } from '../client/index.ts';
import { variableOf, type ServerOptions } from '../config.ts';
import type { TurngraphServer } from '../server/server.ts';
import { engineNames } from '../session/session.ts';
import { serverFlags, serverOptions, UsageError } from './options.ts';

/** Flags of the commands that use an agent: chat and run. */
export interface AgentFlags {
  readonly url?: string;
  readonly engine?: string;
  readonly model?: string;
  readonly diagnostics?: boolean;
  readonly var?: Readonly<Record<string, string>>;
  readonly [serverFlag: string]: unknown;
}

/** An agent, its client, and the variables of `--var`. */
export interface AgentSession {
  readonly client: Client;
  readonly agent: AgentHandle;
  readonly variables: Readonly<Record<string, string>>;
}

/** Adds the argument GRAPH and the flags of `withAgent` to a command. */
export function agentFlags(command: Command): Command {
  command
    .argument('<graph>', 'a graph file, or the name of one in the graphs folder')
    .option('--url <url>', 'a running server; without it the command starts its own')
    .addOption(new Option('--engine <name>', 'engine that runs the models').choices(engineNames))
    .option('--model <name>', 'model of the nodes that name none')
    .option('--diagnostics', 'ask for events and debug info')
    .option('--var <name=value>', 'a variable for templates; can be repeated', addVariable, {});
  return serverFlags(command, [
    'token',
    'graphs',
    'catalogue',
    'models',
    'extend',
    'storageRoot',
    'mockScript',
    'threads',
    'gpu',
  ]);
}

/**
 * Runs `use` with an agent of a graph, on the server of `--url` or on one of its own; disposes of all of it afterwards.
 */
export async function withAgent(
  graph: string,
  flags: AgentFlags,
  use: (session: AgentSession) => Promise<void>,
): Promise<void> {
  const isFile = existsSync(graph);
  // As in `check`: the storage files of a graph file are in its folder.
  const storageRoot =
    flags['storageRoot'] ?? process.env[variableOf('storageRoot')] ?? (isFile ? dirname(graph) : undefined);
  const options = serverOptions({ ...flags, storageRoot, port: 0, logLevel: 'error', slots: 1 });
  await using server = flags.url === undefined ? await startOwnServer(options) : undefined;
  const url = flags.url ?? server?.url ?? '';
  await using client = await connect(url, { codec: 'proto', ...(options.token !== '' && { token: options.token }) });
  // --mock-script implies the mock engine.
  await client.configure({ engine: flags.engine ?? (options.mockScript === '' ? '' : 'mock') });
  await using agent = await client.createAgent({
    ...(isFile ? { graph: await readFile(graph, 'utf8') } : { graphName: graph }),
    defaultModelName: flags.model ?? '',
    enableDiagnostics: flags.diagnostics ?? false,
  });
  for (const warning of agent.warnings) process.stderr.write(`warning: ${warning}\n`);
  await use({ client, agent, variables: flags.var ?? {} });
}

// Imported on demand: loading the engine takes time, and with --url it is not needed.
async function startOwnServer(options: ServerOptions): Promise<TurngraphServer> {
  const { start } = await import('../start.ts');
  return start(options);
}

/** Parses `name=value` of a repeatable option, and adds it to the values so far. @throws UsageError */
export function addVariable(
  text: string,
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const [name = '', ...value] = text.split('=');
  if (value.length === 0) throw new UsageError(`--var ${text} must be name=value`);
  return { ...variables, [name]: value.join('=') };
}
