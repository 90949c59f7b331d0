import { relative } from 'node:path';
import type { ModelDetails } from '../../inference/contract/model.ts';
import type { Diagnosis, EmbeddingDiagnosis, OnStage } from '../doctor/diagnose.ts';
import { countRight, type BenchmarkAnswer, type FormatScore } from '../doctor/toolBenchmark.ts';
import { notationName, type ToolDialect } from '../../chat/dialect/layout.ts';
import { totalMemory, type LoadPlan, type MemoryUse } from '../../inference/contract/memory.ts';
import { formatBytes } from '../../base/units.ts';
import { plural, printable, type Colors } from './terminalText.ts';
import type { EndpointReport } from '../../inference/remote/serverApis.ts';
import { exampleCall } from '../../chat/dialect/nativeFormat.ts';
import type { MarkPair, ReplyMarks } from '../../chat/replyMarks.ts';

/** A line of a table: its label and its value. */
export type ReportRow = readonly [label: string, value: string];

/** Formats a diagnosis as text: sections of aligned lines, and the entry for models.json last. */
export function doctorReport(diagnosis: Diagnosis, colors: Colors): string {
  const { trials, toolDialect } = diagnosis;
  const failed = toolDialect.knowsTools ? failedProbes(toolDialect) : [];
  const sections = [
    section('Model', modelRows(diagnosis), colors),
    section('Prompts', promptRows(diagnosis), colors),
    ...failed.map(([title, lines]) => warnings(title, lines, colors)),
    section('Memory', memoryRows(diagnosis), colors),
    section('Speed', speedRows(diagnosis), colors),
    trials
      ? trialLines(trials, diagnosis.format.name, colors)
      : [colors.bold('Tool questions'), '  not asked (--quick)'],
  ];
  return joinSections(diagnosis, sections, colors);
}

function joinSections(
  { name, files, notes, entry }: Pick<Diagnosis, 'name' | 'files' | 'notes' | 'entry'>,
  sections: readonly (readonly string[])[],
  colors: Colors,
): string {
  const all = [
    [colors.bold(name), ...files.map((file) => colors.dim(shortPath(file)))],
    ...sections,
    ...(notes.length > 0 ? [warnings('Notes', notes, colors)] : []),
    [colors.bold('Entry for models.json'), JSON.stringify(entry, undefined, 2)],
  ];
  return `${all.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

// Relative to the working directory, when the file is below it.
const shortPath = (file: string): string => {
  const path = relative('', file);
  return path.startsWith('..') ? file : path;
};

const columnWidth = 18;

const section = (title: string, rows: readonly ReportRow[], colors: Colors): readonly string[] => [
  colors.bold(title),
  ...rows.map(([label, value]) => {
    const lines = value.split('\n').map(printable);
    return `  ${label.padEnd(columnWidth)}${lines.join(`\n${' '.repeat(columnWidth + 2)}`)}`;
  }),
];

function modelRows({ bytes, model, contextSize }: Diagnosis): readonly ReportRow[] {
  return [
    ['architecture', `${model.architecture}, ${count(model.layers)} layer${model.layers === 1 ? '' : 's'}`],
    ['parameters', formatLargeCount(model.parameters)],
    ['quantisation', model.quantisation],
    ['size', size(bytes)],
    ['context', `${count(contextSize)} tokens are used, ${count(model.trainedContext)} were trained`],
  ];
}

function promptRows({ model, toolDialect, replyMarks, format }: Diagnosis): readonly ReportRow[] {
  const { template, tokens } = model;
  const system = { anywhere: 'supported', first: 'the first message only', nowhere: "written as the user's" } as const;
  const detected = `${toolDialect.format ?? 'none'}: ${toolDialect.because}`;
  const toolTokens = (tokens.toolTokens[format.name] ?? []).map(
    ({ text: spelling, kind }) => `${spelling} ${tokenKindLabels[kind]}`,
  );
  return [
    [
      'chat template',
      template.fallback ? `${template.fallback.layout}, for ${template.fallback.reason}` : "the file's own",
    ],
    ['system message', system[template.system]],
    ['tools', describeTools(template.supportsTools, toolDialect.format === format.name)],
    ['detected', detected],
    ...layoutRows(toolDialect),
    ...(toolDialect.knowsTools ? [['probes', countProbes(toolDialect)] as const] : []),
    ...replyRows(replyMarks),
    ['tool-call format', `${format.name} (${format.isFound ? format.reason : 'nothing names or proves another'})`],
    ['BOS token', describeBos(tokens)],
    ['end tokens', tokens.eog.join(', ') || 'none'],
    ['tool tokens', toolTokens.join(', ') || `${format.name} needs none`],
  ];
}

function countProbes({ probes }: ToolDialect): string {
  const ok = probes.filter((probe) => probe.ok).length;
  return ok === probes.length ? `all ${ok} are ok` : `${ok} of ${probes.length} are ok`;
}

const warnings = (title: string, lines: readonly string[], colors: Colors): readonly string[] => [
  colors.bold(title),
  ...lines.map((line) => `  - ${colors.warning(printable(line))}`),
];

const tokenKindLabels = { control: '(control)', word: '(one token)', letters: '(plain text)' } as const;

const describeTools = (supportsTools: boolean, isTemplateFormat: boolean): string =>
  supportsTools && isTemplateFormat ? 'written by the chat template' : 'written in our own wording';

function describeBos({ bos, addsBos }: ModelDetails['tokens']): string {
  if (bos === undefined) return 'none';
  return addsBos ? `${bos}, before every prompt` : `${bos}, but not put before prompts`;
}

function memoryRows({ model, contextSize, stats }: Diagnosis): readonly ReportRow[] {
  const { weights, slots, slot, free } = model.memory;
  return [
    ['weights', formatMemory(weights)],
    [
      'slots',
      `${formatMemory(slots)} for ${count(stats.slots)} of ${count(contextSize)} tokens, ${formatMemory(slot)} each`,
    ],
    ['free', `${formatMemory(free)} before it was loaded`],
  ];
}

/** llama.cpp counts the output layer, too. */
const layersOnCards = ({ layers, cards }: ModelDetails, gpuLayers: number): string =>
  `${gpuLayers} of ${layers + 1} layers on ${cards.join(', ')}`;

function speedRows({ model, stats, speed }: Diagnosis): readonly ReportRow[] {
  const { backend, gpuLayers, threads, prefillThreads } = stats;
  const threadSpeeds = model.threadBenchmarks.map((trial) => `${trial.threads}: ${rate(trial.tokensPerSecond)}`);
  const benchmark = threadSpeeds.length > 0 ? ` (tokens/s by threads: ${threadSpeeds.join(', ')})` : '';
  return [
    ['backend', gpuLayers > 0 ? `${backend}, with ${layersOnCards(model, gpuLayers)}` : backend],
    ['threads', `${threads} for decode${benchmark}, ${prefillThreads} for prefill`],
    ['prefill', perSecond(speed.prefillPerSecond)],
    ['decode', perSecond(speed.decodePerSecond)],
  ];
}

function trialLines(trials: readonly FormatScore[], used: string, colors: Colors): readonly string[] {
  const [first] = trials;
  const answers = first?.free ?? [];
  const withoutCall = answers.filter(({ expectsCall }) => !expectsCall).length;
  const row = (...cells: readonly string[]): string =>
    `  ${cells.map((cell) => cell.padEnd(columnWidth)).join('')}`.trimEnd();
  const lines = trials.map(({ format, free, strict }) =>
    row(format, score(free), strict ? score(strict) : 'no grammar', format === used ? '<- used' : ''),
  );
  const wrongAnswers = trials
    .filter(({ format }) => format === used)
    .flatMap(({ free, strict = [] }) => [...describeWrong('free', free), ...describeWrong('strict', strict)]);
  return [
    colors.bold('Tool questions') + ` (${answers.length}, of which ${withoutCall} wants no call)`,
    row('', 'free', 'strict'),
    ...lines,
    ...wrongAnswers.map((line) => colors.warning(line)),
  ];
}

const score = (answers: readonly BenchmarkAnswer[]): string => `${countRight(answers)} of ${answers.length} right`;

const maxShownAnswers = 3;
const maxQuotedCharacters = 120;

function describeWrong(mode: string, answers: readonly BenchmarkAnswer[]): readonly string[] {
  const lines = answers
    .filter(({ outcome }) => outcome !== 'right')
    .map(({ message, outcome, text }) => `  ${mode}, ${outcome}: ${JSON.stringify(message)} -> ${quote(text)}`);
  const more = lines.length - maxShownAnswers;
  return more > 0 ? [...lines.slice(0, maxShownAnswers), `  ${mode}: ${more} more, which --json shows`] : lines;
}

function quote(text: string): string {
  const line = printable(text).trim();
  return line.length > maxQuotedCharacters ? `${line.slice(0, maxQuotedCharacters)}…` : line || '(nothing)';
}

const count = (value: number): string => value.toLocaleString('en-GB');
const rate = (value: number): string => count(Number(value.toPrecision(3)));
const perSecond = (value: number | undefined): string =>
  value === undefined ? 'not measured' : `${rate(value)} tokens/s`;

function formatLargeCount(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  return value >= 1e6 ? `${(value / 1e6).toPrecision(3)} million` : count(value);
}

const size = (bytes: number): string => formatBytes(bytes, 1);

/** Formats a diagnosis of an embedding model as text, with the entry for models.json last. */
export function embeddingReport(diagnosis: EmbeddingDiagnosis, colors: Colors): string {
  const { bytes, dimensions, contextSize, prefixes, stats, similarities } = diagnosis;
  const rows: readonly ReportRow[] = [
    ['purpose', 'embedding: it generates no text'],
    ['size', size(bytes)],
    ['vectors', `${dimensions} numbers`],
    ['context', `${contextSize} tokens; of longer texts only the beginning counts`],
    ['query prefix', prefixes.query === '' ? 'none' : JSON.stringify(prefixes.query)],
    ['document prefix', prefixes.document === '' ? 'none' : JSON.stringify(prefixes.document)],
    ['memory', formatMemory(totalMemory(stats.memory))],
    ['backend', stats.gpuLayers > 0 ? `${stats.backend}, with ${stats.gpuLayers} layers` : stats.backend],
    ['threads', String(stats.prefillThreads)],
    ['speed', `${rate(diagnosis.textsPerSecond)} short texts/s, ${rate(diagnosis.tokensPerSecond)} tokens/s`],
    [
      'similarity',
      `${similarities.alike.toFixed(2)} in other words, ${similarities.unlike.toFixed(2)} to something else`,
    ],
  ];
  return joinSections(diagnosis, [section('Model', rows, colors)], colors);
}

/** Formats what the inference servers of a model say, one line for each. */
export function endpointsReport(name: string, endpoints: readonly EndpointReport[], colors: Colors): string {
  const lines = endpoints.flatMap(({ url, problem, model, build, contextSize, slots, limits, notes }) => {
    if (problem !== undefined) return [`  ${url} ${colors.warning(`cannot be used: ${problem}`)}`];
    const size = contextSize === 0 ? 'an unknown context' : `${contextSize} tokens`;
    const facts = `${slots} slots of ${size}, version ${build || 'unknown'}`;
    const warnings = [...notes, ...Object.values(limits)].map((note) => `    ${colors.warning(note)}`);
    return [`  ${url} answers: ${model || 'a model without a name'}, ${facts}`, ...warnings];
  });
  return `${colors.bold(name)}\n${lines.join('\n')}\n`;
}

/** What a model is going to take, in one line. */
export function memoryLine(name: string, plan: LoadPlan): string {
  const { weights, context, slots, contextSize } = plan;
  const contextText = `${formatMemory(context)} for ${plural(slots, 'slot')} of ${count(contextSize)} tokens`;
  const rest = `${formatMemory(weights)} of weights`;
  return `${name} needs about ${formatMemory(totalMemory(plan))}: ${rest}, ${contextText}`;
}

const formatMemory = ({ ram, vram }: MemoryUse): string =>
  vram > 0 ? `${formatBytes(ram, 1)}, ${formatBytes(vram, 1)} on the graphics card` : formatBytes(ram, 1);

/** Shows the progress of `turngraph doctor` on stderr: a status line on a terminal, one line per stage elsewhere. */
export function doctorProgress(): Disposable & { readonly show: OnStage } {
  const isTerminal = process.stderr.isTTY;
  let shown: string | undefined;
  return {
    show(title, progress = '') {
      if (isTerminal) process.stderr.write(`\r\x1b[K${title}${progress}`);
      else if (title !== shown) process.stderr.write(`${title}\n`);
      shown = title;
    },
    [Symbol.dispose]: () => void (isTerminal && shown && process.stderr.write('\r\x1b[K')),
  };
}

/** The notation of a dialect and a call in it, for a table; empty where no layout proved itself. */
export const layoutRows = ({ layout }: ToolDialect): readonly ReportRow[] =>
  layout
    ? [
        ['notation', notationName(layout)],
        ['a call', exampleCall(layout)],
      ]
    : [];

/** The marks around reasoning and answer, for a table. */
export const replyRows = ({ reasoning, answer }: ReplyMarks): readonly ReportRow[] => [
  ['reasoning', reasoning.map(describePair).join(', ')],
  ...(answer ? [['answer', describePair(answer)] as const] : []),
];

const describePair = ({ open, close }: MarkPair): string => `${open} ... ${close}`.trimEnd();

/** The probes of a dialect that failed, each with why, under their titles: those for which its format is not used, and limits. */
export function failedProbes({ probes }: ToolDialect): readonly (readonly [title: string, lines: readonly string[]])[] {
  const linesOf = (wanted: boolean): readonly string[] =>
    probes.filter(({ ok, required }) => !ok && required === wanted).map(({ name, why }) => `${name}: ${why}`);
  const [required, limits] = [linesOf(true), linesOf(false)];
  const limitsTitle = required.length > 0 ? 'Other probes that failed' : 'Limits: the format is used all the same';
  const lists = [['Failed probes: the format is not used', required] as const, [limitsTitle, limits] as const];
  return lists.filter(([, lines]) => lines.length > 0);
}
