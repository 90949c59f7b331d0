import { documentText, wrongType } from '../../protocol/codec/json.ts';
import { malformed, type Fault } from '../../protocol/fault.ts';
import { checks, optionsCheck } from '../options.ts';
import type { FromJsonSchema } from '../../base/fromJsonSchema.ts';
import type { StandardSchema, ParametersSchema, CheckedArguments } from './argumentSchemas.ts';
import { isStandardSchema, compileJsonSchema, checkByStandardSchema } from './argumentSchemas.ts';
import { describeThrown, type ToolOutcome, type Awaitable } from './toolOutcome.ts';
import { isPlainObject } from '../../protocol/codec/wellFormed.ts';
import type { ToolCall } from '../toolCall.ts';
import type { SessionReady } from '../../protocol/frames.gen.ts';

/** What the model is shown of a tool, as `tools` of a ToolCall node has it, too. */
export interface DeclaredTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object; absent: the tool takes no arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly consequential?: boolean;
}

/** What `defineTool` takes. */
export interface DefineToolOptions<Parameters> extends ToolRegistration<Parameters> {
  /** The name, which the graph has in `tools` of a ToolCall node. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** Whether a call has consequences outside of the conversation: `confirm` of the executor is asked first. */
  readonly consequential?: boolean;
}

/** A tool with its declaration and its function; `Args` are what `run` takes. */
export interface DefinedTool<Args = never> {
  readonly name: string;
  readonly declaration: DeclaredTool;
  readonly parameters?: unknown;
  readonly run: (args: Args, context: ToolContext) => unknown;
  readonly lifespan?: ToolOutcome['lifespan'];
}

const checkDefinition = optionsCheck<DefineToolOptions<unknown>>('defineTool', {
  name: checks.string,
  description: checks.string,
  parameters: checks.field,
  run: checks.field,
  consequential: checks.switch,
  lifespan: checks.field,
});

/**
 * Defines a tool once: `createAgent({ tools: [tool] })` declares it to the nodes of the graph that name it, and runs its
 * calls. `parameters` is a JSON Schema (TypeBox writes such), or a Standard Schema that gives one, as those of Zod do.
 * @throws Fault MALFORMED_MESSAGE with the path of what is wrong.
 *
 * @example
 * const setLight = defineTool({
 *   name: 'set_light',
 *   description: 'Turn a light on or off.',
 *   parameters: z.object({ name: z.enum(['porch', 'hall']), on: z.boolean() }),
 *   run: ({ name, on }) => lamps.set(name, on),
 * });
 */
export function defineTool<const Parameters>(
  definition: DefineToolOptions<Parameters>,
): DefinedTool<ToolArguments<Parameters>> {
  checkDefinition(definition as DefineToolOptions<unknown>);
  const { name, description, consequential, ...registration } = definition;
  for (const [member, text] of Object.entries({ name, description }))
    if (text === undefined) throw malformed(`defineTool.${member} is missing`);
  const path = `defineTool.${name}`;
  readTool(registration, path);
  const parameters = declaredParameters(registration.parameters, `${path}.parameters`);
  const declaration = {
    name,
    description,
    ...(parameters && { parameters }),
    ...(consequential !== undefined && { consequential }),
  };
  return { name, declaration, ...registration };
}

/** The JSON Schema of parameters, as the model is shown it. @throws Fault MALFORMED_MESSAGE */
function declaredParameters(given: unknown, path: string): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined) return undefined;
  const text = documentText(isStandardSchema(given) ? jsonSchemaOf(given, path) : given, path);
  const { $schema: _, ...schema } = JSON.parse(text, withoutSafeBounds) as Readonly<Record<string, unknown>>;
  return { type: 'object', ...schema };
}

// Zod bounds each integer by what a double holds, which tells a model nothing.
const withoutSafeBounds = (keyword: string, value: unknown): unknown =>
  (keyword === 'minimum' || keyword === 'maximum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
    ? undefined
    : value;

function jsonSchemaOf(schema: StandardSchema, path: string): object {
  const { vendor, jsonSchema } = schema['~standard'];
  const fail = (problem: string): Fault =>
    malformed(
      `${path} ${problem}; give the JSON Schema itself, such as z.toJSONSchema(schema) of Zod or toJsonSchema(schema) of @valibot/to-json-schema`,
    );
  if (!jsonSchema) throw fail(`of ${vendor} gives no JSON Schema (~standard.jsonSchema), which the model is shown`);
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (thrown) {
    throw fail(`cannot be shown to a model: ${describeThrown(thrown)}`);
  }
}

/** Whether an entry of `tools` has a function, too. */
export const isDefined = (tool: DefinedTool | DeclaredTool): tool is DefinedTool => 'declaration' in tool;

/** What a tool gets besides its arguments. */
export interface ToolContext {
  /**
   * Aborted when the result is of no use any more: the turn was cancelled, has failed, has ended or gone on to further calls
   * without it, the agent was destroyed, or the connection is lost for good.
   */
  readonly signal: AbortSignal;
  /** The call as the model wrote it. */
  readonly call: ToolCall & {
    /**
     * Ends the turn in order with the result of this call: with this text as its answer, or without one.
     * @throws Fault NO_RESULTS_AWAITED if the turn does not wait for the result (`await_results`).
     */
    stop(text?: string): void;
  };
  /** The agent of the call: the `AgentHandle`. While its turn runs, the server refuses changeParams and appendDialog. */
  readonly agent: {
    readonly id: number;
    exportDialog(): Promise<string>;
    changeParams(nodeName: string, params: object): Promise<void>;
    appendDialog(interaction: { readonly user?: string; readonly assistant?: string }): Promise<void>;
    appendText(
      text: string,
      options?: { readonly role?: 'assistant' | 'user'; readonly notify?: boolean },
    ): Promise<string>;
    setAgentMode(mode: 'AUTO' | 'MANUAL'): Promise<void>;
    setVariables(variables: object): Promise<void>;
  };
  /** The session of the agent, as `client.session`, without its secret. */
  readonly session: Omit<SessionReady, 'resumeToken'>;
  /** The variables of the message, as they were given to `send`. */
  readonly variables: Readonly<Record<string, string>>;
  /** The dialog before the message of this turn. */
  readonly dialog: () => Promise<readonly { readonly user: string; readonly assistant: string }[]>;
}

/** What a tool gets that is the same for all calls of a turn. */
export type TurnContext = Omit<ToolContext, 'signal' | 'call'>;

/** The type of a tool's arguments, by its `parameters` (TypeBox says it as `static`); without them each value is unknown. */
export type ToolArguments<Parameters> = Parameters extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Parameters extends { readonly static: infer Static }
    ? Static
    : Parameters extends ParametersSchema
      ? FromJsonSchema<Parameters>
      : Readonly<Record<string, unknown>>;

/** A tool of an executor. */
export interface ToolRegistration<Parameters> {
  /**
   * What the arguments must be: a JSON Schema, or a Standard Schema such as one of Zod or Valibot. It types the arguments
   * of `run`, and a call whose arguments do not fit is not run. Without it the server's check counts (`call.issues`).
   */
  readonly parameters?: Parameters & (ParametersSchema | StandardSchema);
  /**
   * Runs the tool. Its value is the result: a text as it is, anything else as JSON, `undefined` as "ok", or a
   * `toolResult`. What it throws is a failure with that message.
   */
  readonly run: (args: ToolArguments<Parameters>, context: ToolContext) => unknown;
  /** Whether later turns see the results, too; default: TURN, they do not. */
  readonly lifespan?: ToolOutcome['lifespan'];
}

/** The tools of an executor, by name. */
export type ToolRegistrations<Parameters> = { readonly [Name in keyof Parameters]: ToolRegistration<Parameters[Name]> };

/** A registered tool, ready to run. */
export interface RegisteredTool {
  /** Undefined: the server's check counts. */
  readonly check: ((args: unknown) => Awaitable<CheckedArguments>) | undefined;
  readonly run: (args: unknown, context: ToolContext) => unknown;
  readonly lifespan: ToolOutcome['lifespan'];
}

const checkers = { parameters: () => {}, run: checks.callback, lifespan: checks.lifespan } as const;

/** Reads the tools of an executor. @throws Fault MALFORMED_MESSAGE with the path of what is wrong. */
export function readTools(tools: unknown): ReadonlyMap<string, RegisteredTool> {
  if (!isPlainObject(tools)) throw wrongType('executor.tools', 'a plain object of tools', tools);
  // A Map: a name such as "constructor" finds no tool.
  return new Map(Object.entries(tools).map(([name, tool]) => [name, readTool(tool, `executor.${name}`)]));
}

/** Reads one tool. @throws Fault MALFORMED_MESSAGE with the path of what is wrong. */
function readTool(given: unknown, path: string): RegisteredTool {
  if (typeof given !== 'object' || given === null) throw wrongType(path, 'an object with the function run', given);
  optionsCheck<Partial<ToolRegistration<unknown>>>(path, checkers)(given as ToolRegistration<unknown>);
  const tool = given as ToolRegistration<unknown>;
  if (tool.run === undefined) throw malformed(`${path}.run is missing: give a function that runs the tool`);
  return {
    check: readParameters(tool.parameters, `${path}.parameters`),
    // The check has made the arguments what the type says.
    run: (args, context) => tool.run(args as ToolArguments<unknown>, context),
    lifespan: tool.lifespan ?? 'TURN',
  };
}

function readParameters(parameters: unknown, path: string): RegisteredTool['check'] {
  if (parameters === undefined) return undefined;
  if (isStandardSchema(parameters)) return (args) => checkByStandardSchema(parameters, args);
  if (isPlainObject(parameters)) return compileJsonSchema(parameters, path);
  throw wrongType(path, 'a JSON Schema or a Standard Schema', parameters);
}
