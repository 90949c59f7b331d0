import { relative } from 'node:path';
import type { MemoryUse, ModelDetails } from '../../engine/modelDetails.ts';
import type { Diagnosis } from '../../models/doctor/diagnose.ts';
import { countRight, type BenchmarkAnswer, type FormatScore } from '../../models/doctor/toolBenchmark.ts';
import { formatBytes } from '../../units.ts';
import type { Colors } from './colors.ts';

type Row = readonly [label: string, value: string];

/** A diagnosis for a person: sections of aligned lines, and the entry for models.json last. */
export function doctorReport(diagnosis: Diagnosis, colors: Colors): string {
  const { name, files, notes, entry, trials } = diagnosis;
  const sections = [
    [colors.bold(name), ...files.map((file) => colors.dim(shortPath(file)))],
    section('Model', modelRows(diagnosis), colors),
    section('Prompts', promptRows(diagnosis), colors),
    section('Memory', memoryRows(diagnosis), colors),
    section('Speed', speedRows(diagnosis), colors),
    ...(trials ? [trialLines(trials, diagnosis.format.name, colors)] : []),
    ...(notes.length > 0
      ? [[colors.bold('Notes'), ...notes.map((note) => `  - ${colors.bad(stripControl(note))}`)]]
      : []),
    [colors.bold('Entry for models.json'), JSON.stringify(entry, undefined, 2)],
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

// As short as it leads there from here.
const shortPath = (file: string): string => {
  const path = relative('', file);
  return path.startsWith('..') ? file : path;
};

const width = 18;

const section = (title: string, rows: readonly Row[], colors: Colors): readonly string[] => [
  colors.bold(title),
  ...rows.map(([label, value]) => `  ${label.padEnd(width)}${stripControl(value)}`),
];

function modelRows({ bytes, model, contextSize }: Diagnosis): readonly Row[] {
  return [
    ['architecture', `${model.architecture}, ${count(model.layers)} layer${model.layers === 1 ? '' : 's'}`],
    ['parameters', large(model.parameters)],
    ['quantisation', model.quantisation],
    ['size', size(bytes)],
    ['context', `${count(contextSize)} tokens are used, ${count(model.trainedContext)} were trained`],
  ];
}

function promptRows({ model, detectedFormat, format }: Diagnosis): readonly Row[] {
  const { template, tokens } = model;
  const system = { anywhere: 'supported', first: 'the first message only', nowhere: "written as the user's" } as const;
  const detected =
    detectedFormat === undefined ? 'none in template and vocabulary' : `${detectedFormat}, by its ${model.detectedIn}`;
  const marks = (tokens.toolTokens[format.name] ?? []).map(
    ({ text: spelling, kind }) => `${spelling} ${markWords[kind]}`,
  );
  return [
    [
      'chat template',
      template.fallbackReason === undefined ? "the file's own" : `ChatML, for ${template.fallbackReason}`,
    ],
    ['system message', system[template.system]],
    ['tools', toolsWords(template.supportsTools, detectedFormat === format.name)],
    ['detected', detected],
    ['tool-call format', `${format.name} (${format.reason})`],
    ['begin token', beginWords(tokens)],
    ['end tokens', tokens.eog.join(', ') || 'none'],
    ['tool tokens', marks.join(', ') || `${format.name} needs none`],
  ];
}

const markWords = { control: '(control)', word: '(one token)', letters: '(mere letters)' } as const;

const toolsWords = (knowsTools: boolean, isOwn: boolean): string =>
  knowsTools && isOwn ? 'written by the chat template' : 'written in our own wording';

function beginWords({ bos: begin, addsBos: isPutFirst }: ModelDetails['tokens']): string {
  if (begin === undefined) return 'none';
  return isPutFirst ? `${begin}, before every prompt` : `${begin}, but not put before prompts`;
}

function memoryRows({ model, contextSize, stats }: Diagnosis): readonly Row[] {
  const { weights, slots, free } = model.memory;
  return [
    ['weights', places(weights)],
    ['slots', `${places(slots)} for ${count(stats.slots)} of ${count(contextSize)} tokens each`],
    ['free', `${places(free)} before it was loaded`],
  ];
}

function speedRows({ model, stats, speed }: Diagnosis): readonly Row[] {
  const { backend, gpuLayers, threads } = stats;
  const tried = model.threadBenchmarks.map((trial) => `${trial.threads}: ${rate(trial.tokensPerSecond)}`);
  const trials = tried.length > 0 ? ` (tokens/s by threads: ${tried.join(', ')})` : '';
  return [
    // The output counts as a layer, too.
    ['backend', gpuLayers > 0 ? `${backend}, with ${gpuLayers} of ${model.layers + 1} layers` : backend],
    ['threads', `${threads}${trials}`],
    ['reads', perSecond(speed.prefillPerSecond)],
    ['writes', perSecond(speed.decodePerSecond)],
  ];
}

function trialLines(trials: readonly FormatScore[], used: string, colors: Colors): readonly string[] {
  const [first] = trials;
  const asked = first?.free ?? [];
  const silent = asked.filter(({ expectsCall: due }) => !due).length;
  const row = (...cells: readonly string[]): string =>
    `  ${cells
      .map((cell) => cell.padEnd(width))
      .join('')
      .trimEnd()}`;
  const lines = trials.map(({ format, free, strict }) =>
    row(format, score(free), strict ? score(strict) : 'no grammar', format === used ? '<- used' : ''),
  );
  const missed = trials
    .filter(({ format }) => format === used)
    .flatMap(({ free, strict = [] }) => [...wrong('free', free), ...wrong('strict', strict)]);
  return [
    colors.bold('Tool questions') + ` (${asked.length}, of which ${silent} wants no call)`,
    row('', 'free', 'strict'),
    ...lines,
    ...missed.map((line) => colors.bad(line)),
  ];
}

const score = (answers: readonly BenchmarkAnswer[]): string => `${countRight(answers)} of ${answers.length} right`;

const maxShownAnswers = 3;
const maxShownLength = 120;

function wrong(mode: string, answers: readonly BenchmarkAnswer[]): readonly string[] {
  const missed = answers
    .filter(({ outcome }) => outcome !== 'right')
    .map(({ message, outcome, text }) => `  ${mode}, ${outcome}: ${JSON.stringify(message)} -> ${shown(text)}`);
  const more = missed.length - maxShownAnswers;
  return more > 0 ? [...missed.slice(0, maxShownAnswers), `  ${mode}: ${more} more, which --json shows`] : missed;
}

// A terminal is not to act on what a file says or a model writes.
const stripControl = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');

function shown(text: string): string {
  const line = stripControl(text).trim();
  return line.length > maxShownLength ? `${line.slice(0, maxShownLength)}…` : line || '(nothing)';
}

const count = (value: number): string => value.toLocaleString('en-GB');
const rate = (value: number): string => count(Number(value.toPrecision(3)));
const perSecond = (value: number | undefined): string =>
  value === undefined ? 'not measured' : `${rate(value)} tokens/s`;

function large(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  return value >= 1e6 ? `${(value / 1e6).toPrecision(3)} million` : count(value);
}

const size = (bytes: number): string => formatBytes(bytes, 1);

const places = ({ ram, vram }: MemoryUse): string =>
  vram > 0 ? `${size(ram)}, ${size(vram)} on the graphics card` : size(ram);
