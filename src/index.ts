import { readServerOptions, type ServerOptions } from './config.ts';
import type { AnyNodeType } from './graph/node.ts';
import { start } from './main.ts';
import type { Listening } from './server/server.ts';

export { Fault } from './fault.ts';
export { accept, defineNode, ParamsRefused } from './graph/node.ts';
export type { AnyNodeType, Node, NodeType, Supplies } from './graph/node.ts';
export type { Call, Inference, Turn } from './graph/turn.ts';
export type { Listening } from './server/server.ts';
export type { ServerOptions } from './config.ts';

/** Options of `startServer`: those of `serve`, all optional, and node types of one's own. */
export type StartOptions = Partial<ServerOptions> & { readonly nodeTypes?: readonly AnyNodeType[] };

/**
 * Starts a server in this process.
 * @throws TypeError for an option that is not allowed, Fault for what cannot be started, the system's error for a port that is taken.
 */
export async function startServer({ nodeTypes = [], ...options }: StartOptions = {}): Promise<Listening> {
  const reading = readServerOptions(options);
  if (!reading.ok)
    throw new TypeError(reading.refusals.map(({ pointer, message }) => `${pointer.slice(1)} ${message}`).join('; '));
  return start(reading.value, { nodeTypes });
}
