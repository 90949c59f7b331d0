import { documentText } from '../../protocol/codec/requestFrame.ts';
import { type Fault, malformed } from '../../protocol/fault.ts';
import { checks, optionsCheck } from '../options.ts';
import { isStandardSchema, type StandardSchema } from './argumentSchemas.ts';
import { describeThrown, type ToolOutcome } from './toolOutcome.ts';
import { readTool, type ToolArguments, type ToolContext, type ToolRegistration } from './toolRegistration.ts';

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
