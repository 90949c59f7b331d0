// Looks for replies that take long, or whose time grows faster than their length: repeats the fragments of calls, reasoning,
// Markdown and JSON in random grammars, and reads each text as a whole and in pieces, in all formats and in those that the
// templates of a folder give (--templates DIR).
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { nativeFormats, nativeLayouts } from '../nativeLayouts.mjs';
import { createRng } from '../seededRandom.mjs';

export const name = 'replyTime';
export const defaultCount = 2000;

/** UTF-16 units of the texts, the shortest first. */
const lengths = [4, 8, 16, 32, 64].map((size) => size * 1024);
/** What any text may take. */
const maxMs = 1000;
/** A text that takes less is not measured again. */
const minMs = 40;
/** Time in linear growth, from a text to one of four times its length, and as much again for a busy machine. */
const maxGrowth = 8;
const repetitions = 3;
/** How many of the worst texts are printed. */
const printed = 10;

/**
 * @typedef {{ name: string, fragments: readonly string[], run: (text: string) => void }} Target one way to read a reply.
 * @typedef {{ start: string, units: readonly string[], middle: string, end: string }} Grammar a text of any length.
 * @typedef {{ target: string, grammar: Grammar, ms: number, growth: number }} Finding
 */

/**
 * Fuzzes the built readers.
 * @param {{ count: number, seed: number, templates?: string, minutes?: number, log?: (line: string) => void }} run
 * @throws {Error} At the end, where a text took too long.
 */
export async function fuzz({ count, seed, templates, minutes = Infinity, log = () => {} }) {
  const targets = await builtTargets(templates);
  log(`${targets.length} targets`);
  const findings = fuzzTarget(targets, { count: minutes < Infinity ? Infinity : count, seed, minutes, log });
  for (const finding of worstOf(findings).slice(0, printed)) log(describe(finding));
  const slow = findings.filter(isTooSlow);
  if (slow.length > 0) throw new Error(`${slow.length} texts take too long`);
}

/**
 * Reads `count` random texts. @returns the slowest of them.
 * @param {readonly Target[]} targets
 * @param {{ count: number, seed: number, minutes?: number, growth?: boolean, log?: (line: string) => void }} run
 *   `growth`: whether it is measured, which takes most of the time.
 * @returns {readonly Finding[]}
 */
export function fuzzTarget(targets, { count, seed, minutes = Infinity, growth = true, log = () => {} }) {
  const rng = createRng(seed);
  const end = performance.now() + minutes * 60_000;
  let findings = [];
  for (let index = 0; index < count && performance.now() < end; index++) {
    const target = rng.pick(targets);
    const grammar = randomGrammar(rng, target.fragments);
    const finding = { target: target.name, grammar, ...measure(target, grammar, growth) };
    if (isTooSlow(finding)) log(describe(finding));
    findings.push(finding);
    if (findings.length > 1000) findings = worstOf(findings).slice(0, 200);
  }
  return findings;
}

const isTooSlow = ({ ms, growth }) => ms > maxMs || growth > maxGrowth;

const worstOf = (findings) => findings.toSorted((a, b) => Number(isTooSlow(b)) - Number(isTooSlow(a)) || b.ms - a.ms);

const describe = ({ target, grammar, ms, growth }) =>
  `${ms > maxMs || growth > maxGrowth ? 'SLOW ' : ''}${ms.toFixed(0)} ms, x${growth.toFixed(1)}, ${target}: ${JSON.stringify(grammar)}`;

/** The text of a grammar: with one unit repeated; with two, one after the other. Each `%n` is a number of its own. */
function textOf({ start, units: [first = '', second = ''], middle, end }, length) {
  const times = Math.max(1, Math.floor(length / (first.length + second.length)));
  const text = start + first.repeat(times) + middle + second.repeat(times) + end;
  let number = 0;
  return text.replaceAll('%n', () => String(number++));
}

function randomGrammar(rng, fragments) {
  const some = (max) => Array.from({ length: rng.between(0, max + 0.99) | 0 }, () => rng.pick(fragments)).join('');
  // One fragment alone is the most frequent cause.
  const unit = () => rng.pick(fragments) + (rng.oneIn(2) ? '' : some(3));
  return { start: some(3), units: rng.oneIn(2) ? [unit(), unit()] : [unit()], middle: some(2), end: some(2) };
}

// The time limit of a context ends patterns, too.
const script = new Script('run(text)');
const context = createContext({});

/** Processor time of a run; Infinity where it is ended, after ten times of what is allowed. */
function timeOf(run, text) {
  Object.assign(context, { run, text });
  const start = process.cpuUsage().user;
  try {
    script.runInContext(context, { timeout: 10 * maxMs });
  } catch (error) {
    if (error?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return Infinity;
  }
  return (process.cpuUsage().user - start) / 1000;
}

/** The time of the longest text, and the growth from a quarter of it, which is measured only of a text that takes long. */
function measure({ run }, grammar, isGrowthMeasured) {
  for (const length of lengths) {
    const ms = timeOf(run, textOf(grammar, length));
    if (ms > 10 * maxMs) return { ms, growth: Infinity };
    if (length === lengths.at(-1) && (!isGrowthMeasured || ms < minMs)) return { ms, growth: 0 };
  }
  // Pieces may fall on other places of the repeated unit, where a reader stops early: the slowest quarter counts.
  const unit = grammar.units.join('').length;
  const quarters = new Map([0, 1, 2, 3, 4].map((units) => [lengths.at(-3) + units * unit, Infinity]));
  let [quarter, whole] = [Infinity, Infinity];
  // Measured again where it seems to grow too fast: other programs take time, too.
  for (let left = repetitions; left > 0 && (whole === Infinity || whole > maxGrowth * quarter); left--) {
    for (let time = 0; time < repetitions; time++) {
      for (const [length, ms] of quarters) quarters.set(length, Math.min(ms, timeOf(run, textOf(grammar, length))));
      whole = Math.min(whole, timeOf(run, textOf(grammar, lengths.at(-1))));
    }
    quarter = Math.max(1, ...quarters.values());
  }
  return { ms: whole, growth: whole < minMs ? 0 : whole / quarter };
}

const commonFragments = [
  ['%n', 'k%n', '"k%n": ', '"k%n": "', 'k%n=', 'k%n: ', '<k%n>'],
  ['{"k%n":', '"%n"', '`', '``', '```', '```json\n', '````'],
  ['<', '>', '</', '<|', '|>', '[', ']'],
  ['{', '}', '(', ')', '[[', '{{', '"'],
  ["'", '“', '”', '\\', '\\"', '\\u00', '\\\\'],
  [',', ';', ':', '=', '.', '!', '? '],
  ['-', '_', '*', '**', '#', '|', '/'],
  ['&', '~', ' ', '  ', '\n', '\n\n', '\r\n'],
  ['\t', '\0', '\u00a0', '\u2028', '\ud800', 'é', '字'],
  ['1', '0.', '1e', '9'.repeat(20), 'a', 'a ', 'abc'],
  ['f(', 'f{', 'f', 'lamp', 'lamp(', 'lamp{', 'lamp[ARGS]'],
  ['functions.lamp', 'x'.repeat(70), 'true', 'None', 'json ', 'json', '```a'],
  ['! ', 'call ', 'tool', 'name', '"name"', '"name":', '"arguments":'],
  [
    '"arguments": {',
    'place=',
    '"place": "',
    '{"name": "lamp", "arguments": {"place": "',
    '{"name": "lamp", "arguments": {}}',
    '{"a": [',
    '{"a":',
  ],
  ['{"a": 1}', '[{', '[]', '{}', '<tool_call>', '</tool_call>', '<tool_cal>'],
  ['<tool_ca', '<function=', '<function=lamp>', '</function>', '[TOOL_CALLS]', '[ARGS]', '[CALL_ID]'],
  ['<think>', '</think>', '[THINK]', '[/THINK]', '<|python_tag|>', '<|im_end|>', '</s>'],
  ['<![CDATA[', ']]>', 'name>', '_call>', 'Action: ', '\nAction: lamp', '\nAction Input: '],
  ['Action Input: {', '\nThought: ', '\nObservation: ', '\nFinal Answer: ', 'Act', '**Action:**'],
].flat();

const tools = ['lamp', 'door'].map((tool) => ({
  name: tool,
  description: 'What it does.',
  confirm: false,
  parameters: {
    type: 'object',
    properties: {
      place: { type: 'string' },
      level: { type: 'integer' },
      on: { type: ['boolean', 'null'] },
      list: { type: 'array' },
    },
    required: ['place'],
  },
}));

/** All ways to read a reply, of the built program. */
async function builtTargets(templates) {
  const { formats } = await import('../../dist/chat/formats/index.js');
  const { nativeFormat } = await import('../../dist/chat/dialect/nativeFormat.js');
  const { callMarks } = await import('../../dist/chat/dialect/layout.js');
  const dialects = [
    ...[...formats].map(([formatName, format]) => ({ formatName, format, marks: undefined, fragments: [] })),
    ...[...nativeFormats(nativeFormat)].map(([formatName, format]) => {
      const { layout, outputs } = nativeLayouts[formatName.replace('native ', '')];
      return { formatName, format, marks: undefined, fragments: [...callMarks(layout), ...outputs] };
    }),
    ...(templates === undefined ? [] : await templateDialects(templates, nativeFormat, callMarks)),
  ];
  const readers = await builtReaders();
  return dialects.flatMap((dialect) => replyTargets(dialect, readers));
}

async function templateDialects(folder, nativeFormat, callMarks) {
  const { probeChatTemplate } = await import('../../dist/chat/template/chatTemplate.js');
  const dialects = [];
  for (const file of (await readdir(folder)).filter((entry) => entry.endsWith('.jinja')).sort()) {
    const template = probeChatTemplate(await readFile(join(folder, file), 'utf8'), { bos: '', eos: '' });
    const { layout } = template.toolDialect;
    if (!layout) continue;
    const marks = template.replyMarks;
    const own = [...marks.reasoning, marks.answer, marks.header].flatMap((pair) =>
      pair ? [pair.open, pair.close] : [],
    );
    const call = new Map([
      ['place', 'attic'],
      ['list', ['a']],
    ]);
    const { writeCalls } = await import('../../dist/chat/dialect/nativeFormat.js');
    const written = writeCalls([{ id: 'a1b2c3d4e', name: 'lamp', arguments: call }], layout);
    const literals = [
      layout.open,
      layout.close,
      layout.header,
      layout.separator,
      ...layout.before,
      ...layout.between,
      ...layout.after,
    ];
    const fragments = [
      ...callMarks(layout),
      ...own,
      marks.restart,
      ...literals,
      written,
      written.slice(0, written.length / 2),
    ];
    dialects.push({
      formatName: file.replace('.jinja', ''),
      format: nativeFormat(layout),
      marks,
      fragments: fragments.filter((fragment) => typeof fragment === 'string' && fragment !== ''),
    });
  }
  return dialects;
}

async function builtReaders() {
  const { parseReply } = await import('../../dist/chat/reply/parseReply.js');
  const { CallMarkupFilter, StreamableText } = await import('../../dist/chat/reply/malformed/streamableText.js');
  const { ReasoningFilter } = await import('../../dist/chat/reply/reasoning/splitReply.js');
  return { parseReply, CallMarkupFilter, StreamableText, ReasoningFilter };
}

/** The ways to read a reply in a dialect. */
export function replyTargets({ formatName, format, marks, fragments }, readers) {
  const { parseReply, CallMarkupFilter, StreamableText, ReasoningFilter } = readers;
  const known = marks ? { marks } : {};
  const toolNames = new Set(tools.map((tool) => tool.name));
  const ways = {
    whole: (text) => parseReply(text, format, { ...known, tools }),
    'without tools': (text) => parseReply(text, format, known),
    'JSON, in reasoning, cut off': (text) =>
      parseReply(text, format, { ...known, tools, isJson: true, isCutOff: true, thought: true, opened: '<think>' }),
    'reasoning kept': (text) => parseReply(text, format, { ...known, tools, keepReasoning: true }),
    'as a whole, without calls': (text) => {
      const filter = new CallMarkupFilter(format.markup);
      filter.push(text);
      filter.flush();
    },
    'in pieces, without calls': (text) => {
      const filter = new CallMarkupFilter(format.markup);
      for (const piece of pieces(text)) filter.push(piece);
      filter.flush();
    },
    'in pieces, with calls': (text) => {
      const filter = new StreamableText({ markup: format.markup, toolNames });
      for (const piece of pieces(text)) filter.push(piece);
      filter.rest(text);
    },
    'in pieces, reasoning': (text) => {
      const filter = new ReasoningFilter(marks);
      for (const piece of pieces(text)) filter.push(piece);
      filter.flush();
    },
  };
  const all = [...commonFragments, ...fragments, ...fragments];
  return Object.entries(ways).map(([way, run]) => ({ name: `${formatName}, ${way}`, fragments: all, run }));
}

function* pieces(text) {
  for (let at = 0; at < text.length; at += 5) yield text.slice(at, at + 5);
}
