import { wrongType } from '../../protocol/codec/json.ts';
import { isPlainObject } from '../../protocol/codec/wellFormed.ts';
import { checks } from '../options.ts';
import type { DefinedTool, DeclaredTool, ToolRegistration, ToolRegistrations } from './defineTool.ts';
import { isDefined, readTools } from './defineTool.ts';
import { checkExecutorOptions, type ExecutorOptions } from './toolOutcome.ts';
import { fromMcp } from './mcp/fromMcp.ts';
import { TurnCalls, type ExecutorParts, type ToolTurn } from './turnTools.ts';

/** Runs the calls of turns: give it to `agent.send` or `agent.turn` as `tools`. One executor can serve many agents. */
export class ToolExecutor {
  readonly #parts: ExecutorParts;
  /** @internal What `createAgent` declares to the graph. */
  readonly declarations: readonly DeclaredTool[];

  /** @internal Use `executor` or `scriptedExecutor`. */
  constructor(parts: ExecutorParts, declarations: readonly DeclaredTool[] = []) {
    this.#parts = parts;
    this.declarations = declarations;
  }

  /** @internal Begins with the calls of a turn. */
  begin(turn: ToolTurn): TurnCalls {
    return new TurnCalls(this.#parts, turn);
  }
}

/** Functions by tool name: an executor without options. Each gets the arguments, and what `run` of a tool gets besides. */
export type ToolFunctions = Readonly<Record<string, ToolRegistration<undefined>['run']>>;

/** The executor of a message. @throws Fault MALFORMED_MESSAGE for what is neither an executor nor functions by tool name. */
export function toExecutor(tools: ToolExecutor | ToolFunctions): ToolExecutor {
  if (tools instanceof ToolExecutor) return tools;
  if (!isPlainObject(tools)) throw wrongType('send.tools', 'an executor, or functions by tool name', tools);
  const entries = Object.entries(tools as ToolFunctions).map(([name, run]) => {
    checks.callback(run, `send.tools.${name}`);
    return [name, { run }] as const;
  });
  return executor(Object.fromEntries(entries));
}

/**
 * Creates an executor, which runs the detected calls of turns with these tools. A call of any other name fails: the list is
 * all that a model can reach.
 * @param tools by their names, or a list of those of `defineTool`.
 * @throws Fault MALFORMED_MESSAGE for an invalid tool, or a misspelt option.
 *
 * @example
 * const tools = executor({ set_light: { run: ({ name, on }) => lamps.set(name, on) } });
 * await agent.send('porch light on, and what time is it?', { tools });
 */
export function executor(tools: readonly DefinedTool[], options?: ExecutorOptions): ToolExecutor;
export function executor<const Parameters extends Readonly<Record<string, unknown>>>(
  tools: ToolRegistrations<Parameters>,
  options?: ExecutorOptions,
): ToolExecutor;
export function executor(tools: unknown, options: ExecutorOptions = {}): ToolExecutor {
  checkExecutorOptions(options);
  const defined = Array.isArray(tools) ? readDefined(tools, 'executor.tools').filter(isDefined) : [];
  const byName = defined.map(({ name, parameters, run, lifespan }) => [name, { parameters, run, lifespan }] as const);
  const registered = readTools(Array.isArray(tools) ? Object.fromEntries(byName) : tools);
  const declarations = defined.map(({ declaration }) => declaration);
  return new ToolExecutor({ options, find: ({ toolName }) => registered.get(toolName) }, declarations);
}

/** The tools of an agent: those of `defineTool`, declarations of tools that the program runs by itself, or an executor. */
export type AgentTools = ToolExecutor | readonly (DefinedTool | DeclaredTool)[];

/** What `createAgent` declares to the graph, and what runs the calls. @throws Fault MALFORMED_MESSAGE */
export function readAgentTools(tools: AgentTools) {
  if ('begin' in tools) return { declarations: tools.declarations, executor: tools };
  const list = readDefined(tools, 'createAgent.tools');
  const defined = list.filter(isDefined);
  const declarations = list.map((tool) => (isDefined(tool) ? tool.declaration : tool));
  return { declarations, executor: defined.length > 0 ? executor(defined) : undefined };
}

function readDefined(tools: readonly unknown[], path: string): readonly (DefinedTool | DeclaredTool)[] {
  for (const [index, tool] of tools.entries())
    if (!isPlainObject(tool) || ('run' in tool && !('declaration' in tool)))
      throw wrongType(`${path}[${index}]`, 'a tool of defineTool({ ... })', tool);
  return tools as readonly (DefinedTool | DeclaredTool)[];
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
