import { describeError } from '../../fault.ts';
import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { didYouMean } from '../../didYouMean.ts';
import { formats } from '../../tools/formats/index.ts';
import type { DetectedCall, ToolCallFormat } from '../../tools/tool.ts';
import { stringifyJson } from '../../tools/json/value.ts';
import { toolsFormatsCommand } from './toolsFormats.ts';
import { toolsRenderCommand } from './toolsRender.ts';
import { UsageError } from '../options.ts';

/** `turngraph tools` */
export function toolsCommand(): Command {
  const tools = new Command('tools').description('see how tools are written and calls are read');
  tools
    .command('parse')
    .description('read the calls out of the text of a model')
    .argument('[file]', 'the text; without it, standard input')
    .addOption(new Option('--format <name>', `format of the model: ${[...formats.keys()].join(', ')}`))
    .option('--jsonl', 'each line is {"format", "text", "tools"?}, and gets a line')
    .action(parse);
  tools.addCommand(toolsFormatsCommand());
  tools.addCommand(toolsRenderCommand());
  return tools;
}

async function parse(file: string | undefined, { format, jsonl }: { format?: string; jsonl?: boolean }): Promise<void> {
  if (format === undefined && !jsonl) throw new UsageError('--format is needed, unless --jsonl names one on each line');
  const standing = format === undefined ? undefined : formatNamed(format);
  const input = file === undefined ? await textOf(process.stdin) : await readFile(file, 'utf8');
  if (!jsonl) return print(parsed(standing ?? formatNamed(''), input));
  input.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const { format: name, text, tools } = lineOf(line, index + 1);
    print(parsed(name === undefined && standing ? standing : formatNamed(name ?? ''), text, tools));
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

function parsed(format: ToolCallFormat, text: string, tools?: readonly string[]): string {
  const { calls, residual, truncated } = format.detect(text);
  const known = (name: string): boolean | null => (tools ? tools.includes(name) : null);
  const shown = calls.map(({ name, arguments: args, raw, repaired }: DetectedCall) => {
    return { name, arguments: args, raw, known: known(name), repaired };
  });
  return stringifyJson({ calls: shown, residual, truncated });
}

interface Line {
  readonly format?: string;
  readonly text: string;
  readonly tools?: readonly string[];
}

function lineOf(line: string, number: number): Line {
  const mend = `line ${number} must be {"format", "text", "tools"?}`;
  const value = jsonOf(line, mend);
  if (typeof value['text'] !== 'string') throw new Error(`${mend}: "text" is no string`);
  const { format, text, tools } = value;
  return {
    text,
    ...(typeof format === 'string' && { format }),
    ...(Array.isArray(tools) && { tools: tools.map(nameOf) }),
  };
}

function jsonOf(line: string, mend: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(line)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw new Error(`${mend}: ${describeError(error)}`, { cause: error });
  }
}

// Tools may be given as names, as graphs declare them, or in the form of a prompt.
function nameOf(tool: unknown): string {
  if (typeof tool === 'string') return tool;
  const { name, function: inner } = Object(tool) as { readonly name?: unknown; readonly function?: unknown };
  return typeof name === 'string' ? name : inner === undefined ? '' : nameOf(inner);
}
