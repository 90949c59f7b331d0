import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Option, type Command } from 'commander';
import { connect, type AgentHandle, type Client } from '../client/index.ts';
import { variableOf, type ServerOptions } from '../config.ts';
import type { TurngraphServer } from '../server/server.ts';
import { engineNames } from '../session/session.ts';
import { serverFlags, serverOptions, UsageError } from './options.ts';

/** Flags of the commands that talk to an agent. */
export interface AgentFlags {
  readonly url?: string;
  readonly engine?: string;
  readonly model?: string;
  readonly diagnostics?: boolean;
  readonly var?: Readonly<Record<string, string>>;
  readonly [serverFlag: string]: unknown;
}

/** An agent and the client that it belongs to. */
export interface AgentSession {
  readonly client: Client;
  readonly agent: AgentHandle;
  readonly variables: Readonly<Record<string, string>>;
}

/** Gives a command the argument GRAPH and the flags that `withAgent` reads. */
export function agentFlags(command: Command): Command {
  command
    .argument('<graph>', 'a graph file, or the name of one in the graphs folder')
    .option('--url <url>', 'a server that runs already; without it the command starts one of its own')
    .addOption(new Option('--engine <name>', 'what runs the models').choices(engineNames))
    .option('--model <name>', 'model of the nodes that name none')
    .option('--diagnostics', 'ask for events and debug info')
    .option('--var <name=value>', 'a variable for templates; may be given again', addVariable, {});
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

/** Makes an agent of a graph, on a server of the command's own unless a URL is given, and takes all of it down afterwards. */
export async function withAgent(
  graph: string,
  flags: AgentFlags,
  talk: (talk: AgentSession) => Promise<void>,
): Promise<void> {
  const isFile = existsSync(graph);
  // As `check` does: what a file names lies beside it.
  const storageRoot =
    flags['storageRoot'] ?? process.env[variableOf('storageRoot')] ?? (isFile ? dirname(graph) : undefined);
  const options = serverOptions({ ...flags, storageRoot, port: 0, logLevel: 'error', slots: 1 });
  await using server = flags.url === undefined ? await ownServer(options) : undefined;
  const url = flags.url ?? server?.url ?? '';
  await using client = await connect(url, { codec: 'proto', ...(options.token !== '' && { token: options.token }) });
  // A script for the mock engine is meant for the mock engine.
  await client.configure({ engine: flags.engine ?? (options.mockScript === '' ? '' : 'mock') });
  await using agent = await client.createAgent({
    ...(isFile ? { graph: await readFile(graph, 'utf8') } : { graphName: graph }),
    defaultModelName: flags.model ?? '',
    enableDiagnostics: flags.diagnostics ?? false,
  });
  for (const warning of agent.warnings) process.stderr.write(`warning: ${warning}\n`);
  await talk({ client, agent, variables: flags.var ?? {} });
}

// The engine takes its time to load, and who names a URL does without.
async function ownServer(options: ServerOptions): Promise<TurngraphServer> {
  const { start } = await import('../start.ts');
  return start(options);
}

/** Reads `name=value` for an option that may be given again. */
export function addVariable(given: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [name = '', ...value] = given.split('=');
  if (value.length === 0) throw new UsageError(`--var ${given} must be name=value`);
  return { ...before, [name]: value.join('=') };
}
