import { Command } from 'commander';
import type { ServerOptions } from '../../server/config.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { createUncachedLlamaEngine } from '../../server/llamaEngine.ts';
import type { Catalogue } from '../../inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { chooseFormat, defaultFormat, type FormatChoice } from '../../chat/formats/index.ts';
import { nativeFormatName } from '../../chat/dialect/nativeFormat.ts';
import { notationName } from '../../chat/dialect/layout.ts';
import { noDialect, type ToolDialect } from '../../chat/dialect/toolDialect.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import { isOnDisk, localCatalogue, requireEntry } from '../catalogue.ts';
import { serverFlags, serverOptions, UsageError, type ServerFlags } from '../options.ts';
import { failedProbes, layoutRows, replyRows } from '../output/dialectReport.ts';
import { printLine } from '../output/terminalText.ts';
import { captureOptions, type PromptSourceFlags, readTemplateFile } from '../promptSource.ts';

export const toolsFormatsCommand = (): Command =>
  serverFlags(
    new Command('formats')
      .description('show which tool-call format a model gets, why, and what its chat template proves')
      .option('--model <name>', 'a name in the catalogue')
      .option('--template <file>', 'a chat template (Jinja), in place of a model'),
    ['catalogue', 'models', 'engineProcess', 'json'],
  ).action(formats);

async function formats({ model, template, ...flags }: PromptSourceFlags & ServerFlags): Promise<void> {
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

function choose(named: string, { format: detected = '', because, layout }: ToolDialect): FormatChoice {
  const choice = chooseFormat({ node: '', catalogue: named, detected, because });
  if (choice.name !== nativeFormatName || layout) return choice;
  return { ...choice, reason: `${choice.reason}, but agents are refused: ${because}` };
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
