import { checkExecutorOptions, type ExecutorOptions } from './executorOptions.ts';
import { fromMcp } from './mcp/fromMcp.ts';
import { readTools, type ToolRegistrations } from './toolRegistration.ts';
import { TurnCalls, type ExecutorParts, type ToolTurn } from './turnTools.ts';

/** Runs the calls of turns: give it to `agent.send` or `agent.turn` as `tools`. One executor can serve many agents. */
export class ToolExecutor {
  readonly #parts: ExecutorParts;

  /** @internal Use `executor` or `scriptedExecutor`. */
  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  /** @internal Begins with the calls of a turn. */
  begin(turn: ToolTurn): TurnCalls {
    return new TurnCalls(this.#parts, turn);
  }
}

/**
 * Creates an executor, which runs the detected calls of turns with these tools. A call of any other name fails: the list is
 * all that a model can reach.
 * @throws Fault MALFORMED_MESSAGE for an invalid tool, or a misspelt option.
 *
 * @example
 * const tools = executor({ set_light: { run: ({ name, on }) => lamps.set(name, on) } });
 * await agent.send('porch light on, and what time is it?', { tools });
 */
export function executor<const Parameters extends Readonly<Record<string, unknown>>>(
  tools: ToolRegistrations<Parameters>,
  options: ExecutorOptions = {},
): ToolExecutor {
  checkExecutorOptions(options);
  const registered = readTools(tools);
  return new ToolExecutor({ options, find: ({ toolName }) => registered.get(toolName) });
}

/**
 * Takes the tools of a connected client of the Model Context Protocol: declarations for a ToolCall node, and tools for
 * `executor`, which call the server with the arguments of a call.
 * @throws Fault MALFORMED_MESSAGE with the name of a tool that cannot be declared, and the place in its schema.
 *
 * @example
 * const house = await executor.fromMcp(mcp, { only: ['set_light'] });
 * await agent.changeParams('act', { tools: house.declarations });
 * await agent.send('Porch light on!', { tools: executor(house.tools) });
 */
executor.fromMcp = fromMcp;
