import { isObject, isSameJson, type JsonSchema, tryParseJson } from '../../../base/jsonTypes.ts';
import { type ToolOutcome, toolResult, type ToolReturn } from '../toolOutcome.ts';
import { didYouMean } from '../../../base/didYouMean.ts';
import { type Fault, malformed } from '../../../protocol/fault.ts';
import { wrongType } from '../../../protocol/codec/json.ts';
import { readPages } from '../../limits.ts';
import { checks, optionsCheck } from '../../options.ts';
import { compileJsonSchema } from '../argumentSchemas.ts';
import type { DeclaredTool, ToolContext } from '../defineTool.ts';
import { describePointer, escapePointerToken, referenceTarget } from '../../../base/jsonPointer.ts';
import { namedKeywords, ownFacts, mapSchemas } from '../../../base/schemaKeywords.ts';

/** A tool as a server of the Model Context Protocol lists it. */
export interface McpTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** A JSON Schema of type object. */
  readonly inputSchema: object;
  readonly annotations?: { readonly destructiveHint?: boolean | undefined } | undefined;
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
}

/** What a client of the Model Context Protocol is asked for with each request. */
export interface McpRequestOptions {
  /** Aborting it cancels the request. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the request fails. */
  readonly timeout?: number;
}

/** One page of tools. */
export interface McpToolPage {
  readonly tools: readonly McpTool[];
  readonly nextCursor?: string | undefined;
}

/**
 * The part of a connected client of the Model Context Protocol that is used: `Client` of `@modelcontextprotocol/sdk` has it.
 */
export interface McpClient {
  listTools(params?: { cursor?: string }, options?: McpRequestOptions): Promise<McpToolPage>;
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    resultSchema?: undefined,
    options?: McpRequestOptions,
  ): Promise<object>;
}

/** Options of `executor.fromMcp`. */
export interface FromMcpOptions<Name extends string = string, Prefix extends string = string> {
  /** The names of the tools to take; default: all. It types the names. */
  readonly only?: readonly Name[];
  /** Put before each name, to keep the tools of two servers apart: `files_` makes `files_read` of `read`. */
  readonly prefix?: Prefix;
  /** Names that are in use, such as those of tools of your own: a tool of the server with one of them is an error. */
  readonly taken?: readonly string[];
  /** How long one request may take; default: that of the MCP client. A call that takes longer fails. */
  readonly timeoutMs?: number;
  /** The lifespan of the results; default: TURN. */
  readonly lifespan?: ToolOutcome['lifespan'];
}

/** The declaration of an MCP tool, for `tools` of a ToolCall node. */
export interface McpDeclaration<Name extends string = string> extends DeclaredTool {
  readonly name: Name;
  /** The input schema, with what `$ref` refers to in its place. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Set where the server says that the tool can destroy something (`destructiveHint`). */
  readonly consequential?: true;
}

/** An MCP tool as `executor` takes it. */
export interface McpRegistration {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly run: (args: unknown, context: Pick<ToolContext, 'signal'>) => Promise<unknown>;
  readonly lifespan: ToolOutcome['lifespan'];
}

/** The tools of an MCP server, as they were when they were listed. */
export interface McpTools<Name extends string = string> {
  /** For `tools` of a ToolCall node: in a graph, or by `agent.changeParams`. */
  readonly declarations: readonly McpDeclaration<Name>[];
  /** For `executor`. */
  readonly tools: { readonly [ToolName in Name]: McpRegistration };
}

const checkOptions = optionsCheck<FromMcpOptions>('fromMcp', {
  only: checks.list,
  prefix: checks.string,
  taken: checks.list,
  timeoutMs: checks.timeoutMs,
  lifespan: checks.lifespan,
});

/**
 * Lists the tools of a connected client of the Model Context Protocol.
 * @throws Fault MALFORMED_MESSAGE with the name of a tool that cannot be declared, and the place in its schema.
 */
export async function fromMcp<const Name extends string = string, const Prefix extends string = ''>(
  client: McpClient,
  options: FromMcpOptions<Name, Prefix> = {},
): Promise<McpTools<`${Prefix}${Name}`>> {
  checkOptions(options);
  if (typeof client?.listTools !== 'function' || typeof client.callTool !== 'function')
    throw wrongType('fromMcp.client', 'a connected MCP client, with listTools and callTool', client);
  const { prefix = '', taken = [] } = options;
  const used = new Set(taken);
  const all = await readPages('fromMcp: the list of tools', async (cursor) => {
    const { tools, nextCursor } = await client.listTools(
      cursor === '' ? undefined : { cursor },
      requestOptions(options),
    );
    return { items: tools, next: nextCursor };
  });
  const listed = select(all, options.only);
  const declarations: McpDeclaration[] = [];
  const tools: Record<string, McpRegistration> = {};
  for (const tool of listed) {
    const name = prefix + tool.name;
    if (used.has(name)) {
      const fix = 'give a `prefix`, or leave the tool out with `only`';
      throw malformed(`fromMcp.${tool.name}: there are two tools "${name}"; ${fix}`);
    }
    used.add(name);
    declarations.push(declare(tool, name));
    Object.defineProperty(tools, name, { value: register(client, tool, options), enumerable: true });
  }
  return { declarations, tools } as unknown as McpTools<`${Prefix}${Name}`>;
}

const requestOptions = ({ timeoutMs }: FromMcpOptions): McpRequestOptions =>
  timeoutMs === undefined ? {} : { timeout: timeoutMs };

function select(tools: readonly McpTool[], only: readonly string[] | undefined): readonly McpTool[] {
  if (!only) return tools;
  const names = tools.map(({ name }) => name);
  for (const [index, name] of only.entries()) {
    if (!names.includes(name))
      throw malformed(`fromMcp.only[${index}] is no tool: "${name}"${didYouMean(name, names)}`);
  }
  return tools.filter(({ name }) => only.includes(name));
}

function declare(tool: McpTool, name: string): McpDeclaration {
  const { description, title, inputSchema, annotations, execution } = tool;
  const path = `fromMcp.${tool.name}`;
  if (!/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    const rule = 'a letter or _, then at most 63 of A-Z a-z 0-9 _ . -';
    throw malformed(`${path}: the name "${name}" must be ${rule}; leave the tool out with \`only\``);
  }
  if (execution?.taskSupport === 'required') throw malformed(`${path} runs as a task only; leave it out with \`only\``);
  const schema = inputSchema as Readonly<Record<string, unknown>>;
  if (schema?.['type'] !== 'object') throw malformed(`${path}.inputSchema.type must be "object": arguments have names`);
  const parameters = inlineReferences(schema, `${path}.inputSchema`);
  compileJsonSchema(parameters, `${path}.inputSchema`);
  const isConsequential = annotations?.destructiveHint === true;
  return { name, description: description ?? title ?? '', parameters, ...(isConsequential && { consequential: true }) };
}

function register(client: McpClient, { name, inputSchema }: McpTool, options: FromMcpOptions): McpRegistration {
  return {
    parameters: inputSchema as Readonly<Record<string, unknown>>,
    run: async (args, { signal }) => {
      const request = { name, arguments: args as Record<string, unknown> };
      return mcpResult(await callTool(client, request, { ...requestOptions(options), signal }));
    },
    lifespan: options.lifespan ?? 'TURN',
  };
}

// The client of version 2 of the SDK has no parameter for a schema of the result: its options come second.
function callTool(client: McpClient, request: { name: string }, options: McpRequestOptions): Promise<object> {
  if (client.callTool.length !== 2) return client.callTool(request, undefined, options);
  const call = client.callTool.bind(client) as unknown as (params: object, given: McpRequestOptions) => Promise<object>;
  return call(request, options);
}

/**
 * The result of an MCP call as a tool returns it: the texts in their order, each other part named in brackets, and the
 * structured content as JSON, unless a text has it already.
 */
function mcpResult(given: unknown): ToolReturn {
  const result = isObject(given) ? given : {};
  // What servers of the first version of the protocol return.
  if ('toolResult' in result) return toolResult(result['toolResult']);
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  const structured = result['structuredContent'];
  const isError = result['isError'] === true;
  const lines = content.map(describePart);
  if (structured !== undefined && !content.some((part) => saysSame(part, structured)))
    lines.push(JSON.stringify(structured));
  const text = lines.length > 0 ? lines.join('\n') : undefined;
  return isError ? toolResult(text || 'the tool failed', { ok: false }) : toolResult(text);
}

function describePart(part: unknown): string {
  if (!isObject(part)) return '[a part that is no object]';
  const { type, text, data, mimeType, resource } = part;
  switch (type) {
    case 'text':
      return textOf(text);
    case 'image':
    case 'audio':
      return named(type, [mimeType, size(data)]);
    case 'resource_link':
      return named('resource', [part['name'], part['uri'], mimeType, part['description']]);
    case 'resource': {
      const inner = isObject(resource) ? resource : {};
      const heading = named('resource', [inner['uri'], inner['mimeType'], size(inner['blob'])]);
      return typeof inner['text'] === 'string' ? `${heading}\n${inner['text']}` : heading;
    }
    default:
      return named(textOf(type) || 'a part without a type', []);
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const named = (what: string, facts: readonly unknown[]): string =>
  `[${[what, facts.map(textOf).filter(Boolean).join(', ')].filter(Boolean).join(' ')}]`;

function size(base64: unknown): string {
  if (typeof base64 !== 'string') return '';
  return `${Math.floor((base64.replace(/(?<!=)=+$/, '').length * 3) / 4)} bytes`;
}

const saysSame = (part: unknown, structured: unknown): boolean =>
  isObject(part) && part['type'] === 'text' && isSameJson(tryParseJson(textOf(part['text'])), structured);

// What a model is not shown: names and definitions, which stand where they are referred to.
const omittedKeywords: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', '$defs', 'definitions']);
const dynamicReferences: ReadonlySet<string> = new Set(['$dynamicRef', '$recursiveRef']);
// Keywords of turngraph would be read as such, whatever the server means by them.
const ownKeywords: ReadonlySet<string> = new Set(ownFacts);
const maxSchemas = 4096;

/**
 * A JSON Schema as the declaration of a tool takes it: what `$ref` refers to stands in its place.
 * @param path names the schema in errors.
 * @throws Fault MALFORMED_MESSAGE with the place for what a declaration cannot express.
 */
function inlineReferences(root: JsonSchema, path: string): JsonSchema {
  let schemas = 0;
  const refusal = (pointer: string, problem: string): Fault =>
    malformed(`${path}${describePointer(pointer)} ${problem}`);

  /** Reads a schema, or a boolean, which stays as it is; `within` are the references that led to it. */
  function read(schema: unknown, pointer: string, within: readonly unknown[]): unknown {
    if (!isObject(schema)) return schema;
    if (++schemas > maxSchemas) throw refusal(pointer, `has more than ${maxSchemas} schemas, references included`);
    for (const keyword of Object.keys(schema)) {
      if (ownKeywords.has(keyword))
        throw refusal(pointer, `has the keyword "${keyword}", which is no keyword of JSON Schema`);
      if (dynamicReferences.has(keyword)) throw refusal(pointer, `has ${keyword}, which a declaration cannot express`);
    }
    const { $ref: reference, ...others } = schema;
    const target =
      reference === undefined ? {} : read(resolve(reference, pointer, within), pointer, [...within, reference]);
    const shown = Object.entries(others).filter(([keyword]) => !omittedKeywords.has(keyword));
    const own = shown.map(([keyword, value]) => {
      const place = pointer + escapePointerToken(keyword);
      if (namedKeywords.has(keyword) && !isObject(value)) throw refusal(place, 'must be an object of JSON Schemas');
      if (keyword === 'examples' && !Array.isArray(value)) throw refusal(place, 'must be a list');
      return [keyword, mapSchemas(keyword, value, (inner, below) => read(inner, pointer + below, within))];
    });
    return isObject(target) ? { ...target, ...Object.fromEntries(own) } : target;
  }

  function resolve(reference: unknown, pointer: string, within: readonly unknown[]): unknown {
    const name = JSON.stringify(reference);
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference))
      throw refusal(pointer, `refers to ${name}; only references within the schema, such as "#/$defs/x", are read`);
    if (reference === '#' || within.includes(reference))
      throw refusal(pointer, `refers to ${name}, which contains itself`);
    const target = referenceTarget(root, reference);
    if (target === undefined) throw refusal(pointer, `refers to ${name}, which it does not have`);
    return target;
  }

  return read(root, '', []) as JsonSchema;
}
