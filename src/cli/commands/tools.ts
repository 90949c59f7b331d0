import { Command, Option } from 'commander';
import { toolsRenderCommand } from './toolsRender.ts';
import type { ServerOptions } from '../../server/config.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { createUncachedLlamaEngine } from '../../server/llamaEngine.ts';
import type { Catalogue } from '../../inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { chooseFormat, defaultFormat, formats, type FormatChoice, type Formats } from '../../chat/formats/index.ts';
import { nativeFormatName, formatsOf } from '../../chat/dialect/nativeFormat.ts';
import { notationName, noDialect, type ToolDialect } from '../../chat/dialect/layout.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import { isOnDisk, localCatalogue, requireEntry } from '../catalogue.ts';
import { serverFlags, serverOptions, UsageError, type ServerFlags } from '../options.ts';
import { failedProbes, layoutRows, replyRows } from '../output/doctorReport.ts';
import { printLine } from '../output/terminalText.ts';
import { captureOptions, readTemplateFile, type PromptSourceFlags } from '../promptSource.ts';
import { text as readText } from 'node:stream/consumers';
import { describeError } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import type { FromSchema, ReadResult, SchemaError } from '../../protocol/schema.ts';
import { createReader, errorsBelow, invalid } from '../../protocol/schema.ts';
import { readTool } from '../../chat/tools/declaration/readTool.ts';
import { toolSchema } from '../../chat/tools/declaration/toolSchema.ts';
import type { Tool, ToolCallFormat } from '../../chat/tool.ts';
import { memoizedByKey } from '../../base/memoized.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import { parseReply, type ParsedReply } from '../../chat/reply/parseReply.ts';
import { readTextFile } from '../../base/filesystem.ts';
import { readJson } from '../../base/jsonLocations.ts';

export const toolsCommand = (): Command =>
  new Command('tools')
    .description('debug tool calling: render prompts, detect calls')
    .addCommand(toolsParseCommand())
    .addCommand(toolsFormatsCommand())
    .addCommand(toolsRenderCommand());

const toolsParseCommand = (): Command =>
  new Command('parse')
    .description('detect the tool calls in the text of a model')
    .argument('[file]', 'file with the text; without it, stdin')
    .addOption(new Option('--format <name>', `tool-call format: ${[...formats.keys()].join(', ')}`))
    .option('--template <file>', "a chat template (Jinja): its model's format")
    .option(
      '--jsonl',
      'input is JSON lines of {"format" or "template", "text", "opened"?, "tools"?, "response_format"?, "reasoning_format"?}; prints one line for each',
    )
    .action(parse);

async function parse(file: string | undefined, { jsonl, ...flags }: FormatSource & { jsonl?: boolean }): Promise<void> {
  if (!names(flags) && !jsonl)
    throw new UsageError('--format or --template is needed, unless --jsonl names one on each line');
  if (flags.format !== undefined && flags.template !== undefined && flags.format !== nativeFormatName)
    throw new UsageError(`--template gives the format itself: leave --format ${flags.format} out`);
  const readTemplate = memoizedByKey((path: string) => path, readTemplateFile);
  // Before the input is read: it may come from a terminal.
  const common = names(flags) ? await readDialect(flags, readTemplate) : undefined;
  const input = file === undefined ? await readText(process.stdin) : await readTextFile(file);
  if (!jsonl) return printLine(parseText({ text: input }, common ?? (await readDialect(flags, readTemplate))));
  for (const [index, text] of input.split('\n').entries()) {
    if (text.trim() === '') continue;
    const line = readReplyLine(text, index + 1);
    printLine(parseText(line, common && !names(line) ? common : await readLineDialect(line, index + 1, readTemplate)));
  }
}

/** What names a format: itself, or the chat template of its model. */
type FormatSource = Pick<ReplyLine, 'format' | 'template'>;

const names = ({ format, template }: FormatSource): boolean => (format ?? template) !== undefined;

interface ReplyDialect {
  readonly format: ToolCallFormat;
  readonly marks?: ReplyMarks;
}

async function readLineDialect(line: ReplyLine, number: number, read: typeof readTemplateFile): Promise<ReplyDialect> {
  if (!names(line)) throw new Error(`line ${number}: format and template are missing, and no flag names one`);
  try {
    return await readDialect(line, read);
  } catch (error) {
    const message = `line ${number}: ${describeError(error)}`;
    throw error instanceof UsageError ? new UsageError(message) : new Error(message, { cause: error });
  }
}

async function readDialect(
  { format = '', template }: FormatSource,
  readTemplate: typeof readTemplateFile,
): Promise<ReplyDialect> {
  if (template === undefined) return { format: formatNamed(format, formats) };
  const { toolDialect, replyMarks: marks } = await readTemplate(template);
  const { name } = chooseFormat({ node: format }, toolDialect);
  if (format === '' && toolDialect.format === undefined)
    process.stderr.write(`warning: ${template}: calls are read as ${name}, for ${toolDialect.because}\n`);
  return { format: formatNamed(name, formatsOf(toolDialect, formats)), marks };
}

function formatNamed(name: string, available: Formats): ToolCallFormat {
  const format = available.get(name);
  if (format) return format;
  const known = [...available.keys()];
  if (name === nativeFormatName)
    throw new UsageError(`native is read off a chat template: name one that proves a layout, with --template FILE`);
  throw new UsageError(`there is no format "${name}", but ${known.join(', ')}${didYouMean(name, known)}`);
}

function parseText({ text, tools, ...line }: ReplyLine, { format, marks }: ReplyDialect): string {
  const { calls, residual, truncated, content, reasoning }: ParsedReply = parseReply(text, format, {
    ...(tools && { tools }),
    ...(marks && { marks }),
    ...(line.opened !== undefined && { opened: line.opened }),
    keepReasoning: line.reasoning_format === 'none',
    isJson: line.response_format !== undefined,
  });
  const isKnown = (name: string): boolean | null => (tools ? tools.some((tool) => tool.name === name) : null);
  const printed = calls.map(({ name, arguments: args, raw, repaired }) => {
    return { name, arguments: args, raw, known: isKnown(name), repaired };
  });
  return stringifyJson({ calls: printed, residual, truncated, content, reasoning });
}

const lineSchema = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string' },
    format: { type: 'string', minLength: 1 },
    template: { type: 'string', minLength: 1 },
    opened: { type: 'string' },
    tools: { type: 'array', items: {} },
    response_format: { type: 'object' },
    reasoning_format: { type: 'string', enum: ['none', 'auto', 'deepseek'] },
  },
} as const;

const readFields = createReader(lineSchema);

/** A line of `tools parse --jsonl`: the reply of a model, and what it is read by. */
interface ReplyLine extends Omit<FromSchema<typeof lineSchema>, 'tools'> {
  /** The tools that were offered; undefined: unknown. */
  readonly tools?: readonly Tool[];
}

/** Reads a line. Unknown fields are ignored. @throws Error that names the line and the field. */
function readReplyLine(line: string, number: number): ReplyLine {
  const { value, error } = readJson(line);
  if (error) throw new Error(`line ${number} is no JSON at ${error.place}: ${error.why}`);
  const reading = readFields(value);
  if (!reading.ok) throw lineError(number, reading.errors);
  const { tools, ...fields } = reading.value;
  if (tools === undefined) return fields;
  const offered = tools.map((tool, index) => {
    const offer = below(`/tools/${index}`, readOfferedTool(tool));
    if (!offer.ok) throw lineError(number, offer.errors);
    return offer.value;
  });
  return { ...fields, tools: offered };
}

const lineError = (number: number, errors: readonly SchemaError[]): Error =>
  new Error(errors.map(({ pointer, message }) => `line ${number}: ${pointer.slice(1) || 'it'} ${message}`).join('\n'));

const readDeclaration = createReader(toolSchema);

// A tool is given by its name, as graphs declare it, or as OpenAI does: { type: 'function', function: { name, ... } }.
function readOfferedTool(tool: unknown): ReadResult<Tool> {
  if (typeof tool === 'string') return readOfferedTool({ name: tool });
  if (!isObject(tool)) return invalid('', 'must be a name or an object');
  if (tool['function'] !== undefined) return below('/function', readOfferedTool(tool['function']));
  const { name, description = '', parameters } = tool;
  if (typeof name !== 'string' || name === '') return invalid('/name', 'must be a name');
  if (Array.isArray(parameters)) {
    const declaration = readDeclaration({ name, description, parameters });
    return declaration.ok ? readTool(declaration.value) : declaration;
  }
  if (!isObject(parameters ?? {})) return invalid('/parameters', 'must be a JSON Schema');
  const schema = { type: 'object', ...Object(parameters) } as const;
  return readTool({ name, description: String(description), parameters: schema, consequential: false });
}

const below = (parent: string, reading: ReadResult<Tool>): ReadResult<Tool> =>
  reading.ok ? reading : { ok: false, errors: errorsBelow(parent, reading.errors) };

const toolsFormatsCommand = (): Command =>
  serverFlags(
    new Command('formats')
      .description('show which tool-call format a model gets, why, and what its chat template proves')
      .option('--model <name>', 'a name in the catalogue')
      .option('--template <file>', 'a chat template (Jinja), in place of a model'),
    ['catalogue', 'models', 'engineProcess', 'json'],
  ).action(showFormat);

async function showFormat({ model, template, ...flags }: PromptSourceFlags & ServerFlags): Promise<void> {
  const options = serverOptions(flags);
  if (model !== undefined && template !== undefined) throw new UsageError('--model and --template exclude each other');
  if (model !== undefined) return modelFormat(model, options);
  if (template === undefined) throw new UsageError('--model or --template is needed');
  const { toolDialect: dialect, replyMarks } = await readTemplateFile(template);
  const choice = choose('', dialect);
  if (options.json) printLine(JSON.stringify(facts(choice, dialect)));
  else printLine([`${template}: ${choice.name} (${choice.reason})`, ...dialectLines(dialect, replyMarks)].join('\n'));
}

async function modelFormat(name: string, options: ServerOptions): Promise<void> {
  const catalogue = await localCatalogue(options);
  const { tool_call_format: named } = requireEntry(catalogue, name);
  const model = isOnDisk(catalogue, name) ? await readModel(options, catalogue, name) : undefined;
  const dialect = model?.toolDialect ?? noDialect('it is not on disk');
  const { format: detected = '', because } = dialect;
  const choice = choose(named, dialect);
  if (options.json) return printLine(JSON.stringify({ model: name, ...facts(choice, dialect), named, detected }));
  const sources = [
    row('a node', 'comes first, if its tool_call_format names one'),
    row('models.json', named || 'names none'),
    row('the model', detected || because),
    row('otherwise', defaultFormat),
  ];
  printLine(
    [`${name}: ${choice.name} (${choice.reason})`, ...sources, ...dialectLines(dialect, model?.replyMarks)].join('\n'),
  );
}

function choose(named: string, dialect: ToolDialect): FormatChoice {
  const choice = chooseFormat({ catalogue: named }, dialect);
  if (choice.name !== nativeFormatName || dialect.layout) return choice;
  return { ...choice, reason: `${choice.reason}, but agents are refused: ${dialect.because}` };
}

/** What programs get. `proved`: the chat template proves the format that is used. */
function facts({ name: format, reason: because }: FormatChoice, { format: detected, layout, probes }: ToolDialect) {
  const proved = format === detected || (format === nativeFormatName && layout !== undefined);
  return { format, notation: layout ? notationName(layout) : null, proved, because, probes };
}

async function readModel(
  options: ServerOptions,
  catalogue: Catalogue,
  name: string,
): Promise<Pick<Model, 'toolDialect' | 'replyMarks'>> {
  const engine = await createUncachedLlamaEngine(options);
  await using pool = new ModelPool(engine, { ...captureOptions, catalogue, idleMs: 0 });
  const { model } = await pool.lease(name);
  return { toolDialect: model.toolDialect, replyMarks: model.replyMarks };
}

const labelWidth = 13;
const row = (label: string, value: string): string =>
  `    ${label.padEnd(labelWidth)}${value.replaceAll('\n', `\n${' '.repeat(labelWidth + 4)}`)}`;

/** The notation, an example and the marks of replies, the probes that are ok, and those that are not with the reason of each. */
function dialectLines(dialect: ToolDialect, marks?: ReplyMarks): readonly string[] {
  const ok = dialect.probes.filter((probe) => probe.ok).map(({ name }) => name);
  return [
    ...[...layoutRows(dialect), ...(marks ? replyRows(marks) : [])].map(([label, value]) => row(label, value)),
    ...list('Probes that are ok', wrap(ok)),
    ...failedProbes(dialect).flatMap(([title, lines]) => list(title, lines)),
  ];
}

const list = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', title, ...lines.map((line) => `    ${line}`)];

const maxLineLength = 100;

function wrap(names: readonly string[]): readonly string[] {
  const lines: string[] = [];
  names.forEach((name, index) => {
    const word = index === names.length - 1 ? name : `${name},`;
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > maxLineLength) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  });
  return lines;
}
