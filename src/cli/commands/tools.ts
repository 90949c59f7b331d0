import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { didYouMean } from '../../didYouMean.ts';
import { describeError } from '../../fault.ts';
import { formats } from '../../tools/formats/index.ts';
import type { DetectedCall, ToolCallFormat } from '../../tools/tool.ts';
import { stringifyJson } from '../../tools/json/value.ts';
import { toolsFormatsCommand } from './toolsFormats.ts';
import { toolsRenderCommand } from './toolsRender.ts';
import { UsageError } from '../options.ts';

/** `turngraph tools`: parse, formats, render. */
export function toolsCommand(): Command {
  const tools = new Command('tools').description('debug tool calling: render prompts, detect calls');
  tools
    .command('parse')
    .description('detect the tool calls in the text of a model')
    .argument('[file]', 'file with the text; without it, stdin')
    .addOption(new Option('--format <name>', `tool-call format: ${[...formats.keys()].join(', ')}`))
    .option('--jsonl', 'input is JSON lines of {"format", "text", "tools"?}; prints one line for each')
    .action(parse);
  tools.addCommand(toolsFormatsCommand());
  tools.addCommand(toolsRenderCommand());
  return tools;
}

async function parse(file: string | undefined, { format, jsonl }: { format?: string; jsonl?: boolean }): Promise<void> {
  if (format === undefined && !jsonl) throw new UsageError('--format is needed, unless --jsonl names one on each line');
  const defaultFormat = format === undefined ? undefined : formatNamed(format);
  const input = file === undefined ? await readText(process.stdin) : await readFile(file, 'utf8');
  if (!jsonl) return print(detectLine(defaultFormat ?? formatNamed(''), input));
  input.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const { format: name, text, tools } = parseLine(line, index + 1);
    print(detectLine(name === undefined && defaultFormat ? defaultFormat : formatNamed(name ?? ''), text, tools));
  });
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function formatNamed(name: string): ToolCallFormat {
  const format = formats.get(name);
  if (format) return format;
  throw new UsageError(
    `there is no format "${name}", but ${[...formats.keys()].join(', ')}${didYouMean(name, formats.keys())}`,
  );
}

function detectLine(format: ToolCallFormat, text: string, tools?: readonly string[]): string {
  const { calls, residual, truncated } = format.detect(text);
  const isKnown = (name: string): boolean | null => (tools ? tools.includes(name) : null);
  const printed = calls.map(({ name, arguments: args, raw, repaired }: DetectedCall) => {
    return { name, arguments: args, raw, known: isKnown(name), repaired };
  });
  return stringifyJson({ calls: printed, residual, truncated });
}

interface Line {
  readonly format?: string;
  readonly text: string;
  readonly tools?: readonly string[];
}

function parseLine(line: string, number: number): Line {
  const hint = `line ${number} must be {"format", "text", "tools"?}`;
  const value = parseJson(line, hint);
  if (typeof value['text'] !== 'string') throw new Error(`${hint}: "text" is no string`);
  const { format, text, tools } = value;
  return {
    text,
    ...(typeof format === 'string' && { format }),
    ...(Array.isArray(tools) && { tools: tools.map(toolName) }),
  };
}

function parseJson(line: string, hint: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new Error(`${hint}: ${describeError(error)}`, { cause: error });
  }
}

// A tool is given by its name, as graphs declare it, or as prompts do: { type: 'function', function: { name } }.
function toolName(tool: unknown): string {
  if (typeof tool === 'string') return tool;
  const { name, function: inner } = Object(tool) as { readonly name?: unknown; readonly function?: unknown };
  return typeof name === 'string' ? name : inner === undefined ? '' : toolName(inner);
}
