import { relative } from 'node:path';
import type { Bytes, ModelDescription } from '../../engine/modelDetails.ts';
import type { Diagnosis } from '../../models/doctor/diagnose.ts';
import { rightIn, type Answer, type FormatTrial } from '../../models/doctor/toolBenchmark.ts';
import type { Paint } from './colors.ts';

type Row = readonly [label: string, value: string];

/** A diagnosis for a person: sections of aligned lines, and the entry for models.json last. */
export function doctorPage(diagnosis: Diagnosis, paint: Paint): string {
  const { name, files, notes, entry, trials } = diagnosis;
  const sections = [
    [paint.bold(name), ...files.map((file) => paint.dim(near(file)))],
    section('Model', modelRows(diagnosis), paint),
    section('Prompts', promptRows(diagnosis), paint),
    section('Memory', memoryRows(diagnosis), paint),
    section('Speed', speedRows(diagnosis), paint),
    ...(trials ? [trialLines(trials, diagnosis.format.name, paint)] : []),
    ...(notes.length > 0 ? [[paint.bold('Notes'), ...notes.map((note) => `  - ${paint.bad(harmless(note))}`)]] : []),
    [paint.bold('Entry for models.json'), JSON.stringify(entry, undefined, 2)],
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

// As short as it leads there from here.
const near = (file: string): string => {
  const path = relative('', file);
  return path.startsWith('..') ? file : path;
};

const width = 18;

const section = (title: string, rows: readonly Row[], paint: Paint): readonly string[] => [
  paint.bold(title),
  ...rows.map(([label, value]) => `  ${label.padEnd(width)}${harmless(value)}`),
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
  const marks = (tokens.marks[format.name] ?? []).map(({ spelling, kind }) => `${spelling} ${markWords[kind]}`);
  return [
    ['chat template', template.unused === undefined ? "the file's own" : `ChatML, for ${template.unused}`],
    ['system message', system[template.system]],
    ['tools', toolsWords(template.knowsTools, detectedFormat === format.name)],
    ['detected', detected],
    ['tool-call format', `${format.name} (${format.because})`],
    ['begin token', beginWords(tokens)],
    ['end tokens', tokens.ends.join(', ') || 'none'],
    ['tool tokens', marks.join(', ') || `${format.name} needs none`],
  ];
}

const markWords = { control: '(control)', word: '(one token)', letters: '(mere letters)' } as const;

const toolsWords = (knowsTools: boolean, isOwn: boolean): string =>
  knowsTools && isOwn ? 'written by the chat template' : 'written in our own wording';

function beginWords({ begin, isPutFirst }: ModelDescription['tokens']): string {
  if (begin === undefined) return 'none';
  return isPutFirst ? `${begin}, before every prompt` : `${begin}, but not put before prompts`;
}

function memoryRows({ model, contextSize, figures }: Diagnosis): readonly Row[] {
  const { weights, seats, free } = model.memory;
  return [
    ['weights', places(weights)],
    ['seats', `${places(seats)} for ${count(figures.seats)} of ${count(contextSize)} tokens each`],
    ['free', `${places(free)} before it was loaded`],
  ];
}

function speedRows({ model, figures, speed }: Diagnosis): readonly Row[] {
  const { backend, gpuLayers, threads } = figures;
  const tried = model.threadTrials.map((trial) => `${trial.threads}: ${rate(trial.tokensPerSecond)}`);
  const trials = tried.length > 0 ? ` (tokens/s by threads: ${tried.join(', ')})` : '';
  return [
    // The output counts as a layer, too.
    ['backend', gpuLayers > 0 ? `${backend}, with ${gpuLayers} of ${model.layers + 1} layers` : backend],
    ['threads', `${threads}${trials}`],
    ['reads', perSecond(speed.read)],
    ['writes', perSecond(speed.written)],
  ];
}

function trialLines(trials: readonly FormatTrial[], used: string, paint: Paint): readonly string[] {
  const [first] = trials;
  const asked = first?.free ?? [];
  const silent = asked.filter(({ due }) => !due).length;
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
    paint.bold('Tool questions') + ` (${asked.length}, of which ${silent} wants no call)`,
    row('', 'free', 'strict'),
    ...lines,
    ...missed.map((line) => paint.bad(line)),
  ];
}

const score = (answers: readonly Answer[]): string => `${rightIn(answers)} of ${answers.length} right`;

const mostShown = 3;
const longestShown = 120;

function wrong(mode: string, answers: readonly Answer[]): readonly string[] {
  const missed = answers
    .filter(({ outcome }) => outcome !== 'right')
    .map(({ message, outcome, text }) => `  ${mode}, ${outcome}: ${JSON.stringify(message)} -> ${shown(text)}`);
  const more = missed.length - mostShown;
  return more > 0 ? [...missed.slice(0, mostShown), `  ${mode}: ${more} more, which --json shows`] : missed;
}

// A terminal is not to act on what a file says or a model writes.
const harmless = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(/\p{Cc}/gu, '');

function shown(text: string): string {
  const line = harmless(text).trim();
  return line.length > longestShown ? `${line.slice(0, longestShown)}…` : line || '(nothing)';
}

const count = (value: number): string => value.toLocaleString('en-GB');
const rate = (value: number): string => count(Number(value.toPrecision(3)));
const perSecond = (value: number | undefined): string =>
  value === undefined ? 'not measured' : `${rate(value)} tokens/s`;

function large(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  return value >= 1e6 ? `${(value / 1e6).toPrecision(3)} million` : count(value);
}

const size = (bytes: number): string =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`;

const places = ({ ram, vram }: Bytes): string =>
  vram > 0 ? `${size(ram)}, ${size(vram)} on the graphics card` : size(ram);
