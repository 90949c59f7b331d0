import { nativeLayouts } from '../../scripts/nativeLayouts.mjs';
import { createRng, type Rng } from '../../scripts/seededRandom.mjs';
import { formats } from '../../src/chat/formats/index.ts';
import { react } from '../../src/chat/formats/react.ts';
import { stringifyJson } from '../../src/chat/json/value.ts';
import type { CallLayout } from '../../src/chat/dialect/layout.ts';
import { nativeFormat, writeCalls } from '../../src/chat/dialect/nativeFormat.ts';
import type { Tool, ToolCallFormat } from '../../src/chat/tool.ts';
import { keyValueCalls, linesCalls, namedJsonCalls, pythonCalls } from './callLayouts.ts';
import { createTool, parseArguments } from './toolCalls.ts';

/** The tools that the calls of the replies name. */
export const replyTools: readonly Tool[] = [
  createTool({
    name: 'set_lamp',
    parameters: [
      { name: 'room', type: 'string' },
      { name: 'on', type: 'boolean', required: false },
    ],
  }),
  createTool({ name: 'get_tide', parameters: [{ name: 'port', type: 'string' }] }),
  createTool({ name: 'note_add', parameters: [{ name: 'body', type: 'string' }] }),
  createTool({ name: 'roll_dice', parameters: [{ name: 'sides', type: 'integer', required: false }] }),
];

const calls = [
  { name: 'set_lamp', args: { room: 'attic', on: true } },
  { name: 'get_tide', args: { port: 'Oban' } },
  { name: 'note_add', args: { body: 'buy milk, then {call} Ann' } },
  { name: 'roll_dice', args: {} },
  { name: 'roll_dice', args: { sides: 20 } },
] as const;

type WrittenCall = (typeof calls)[number];

/** A format, and how a model writes calls in it. */
export interface Dialect {
  readonly name: string;
  readonly format: ToolCallFormat;
  write(calls: readonly WrittenCall[]): string;
}

const json = (name: string, args: string, call: WrittenCall): string =>
  `{"${name}": "${call.name}", "${args}": ${stringifyJson(call.args)}}`;

const common: Readonly<Record<string, Dialect['write']>> = {
  chatml: (list) => list.map((call) => `<tool_call>\n${json('name', 'arguments', call)}\n</tool_call>`).join('\n'),
  llama3: (list) => list.map((call) => json('name', 'parameters', call)).join('; '),
  mistral: (list) => `[TOOL_CALLS] [${list.map((call) => json('name', 'arguments', call)).join(', ')}]`,
  generic: (list) => list.map((call) => json('tool', 'args', call)).join('\n'),
};

const others: Readonly<Record<string, Dialect['write']>> = {
  phi4: (list) => `<|tool_call|>[${list.map((call) => json('name', 'arguments', call)).join(', ')}]<|/tool_call|>`,
  hermes: (list) => list.map((call) => `<function_call>${json('name', 'arguments', call)}</function_call>`).join('\n'),
  functionTag: (list) => list.map(({ name, args }) => `<function=${name}>${stringifyJson(args)}</function>`).join('\n'),
  pythonTag: (list) => list.map((call) => `<|python_tag|>${json('name', 'parameters', call)}`).join('\n'),
  compact: (list) => list.map(({ name, args }) => `[TOOL_CALLS]${name}[ARGS]${stringifyJson(args)}`).join(''),
};

const layouts: Readonly<Record<string, CallLayout>> = {
  namedJson: namedJsonCalls,
  linesInTags: linesCalls,
  keyValue: keyValueCalls,
  pythonInTags: pythonCalls,
  ...Object.fromEntries(Object.entries(nativeLayouts).map(([name, { layout }]) => [name, layout])),
};

const chatml = formats.get('chatml');

/** All formats, the other tags that models write, and layouts that are read off templates. */
export const dialects: readonly Dialect[] = [
  ...[...formats.values()].flatMap((format) => {
    const write = common[format.name];
    return write ? [{ name: format.name, format, write }] : [];
  }),
  ...(chatml ? Object.entries(others).map(([name, write]) => ({ name, format: chatml, write })) : []),
  ...Object.entries(layouts).map(([name, layout]) => ({
    name: `native ${name}`,
    format: nativeFormat(layout),
    write: (list: readonly WrittenCall[]) =>
      writeCalls(
        list.map(({ name: tool, args }, index) => ({
          id: `a1b2c3d4${index}`,
          name: tool,
          arguments: parseArguments(args),
        })),
        layout,
      ),
  })),
];

/** The format whose calls are marked by words: apart from the others, which share their marks. */
export const reactDialect: Dialect = {
  name: react.name,
  format: react,
  write: (list) =>
    list.map(({ name, args }) => `Action: ${name}\nAction Input: ${stringifyJson(args)}`).join('\nThought: And now?\n'),
};

const commonDialects = dialects.filter(({ name }) => !name.startsWith('native'));

const before = ['', '', 'At once.\n', 'Let me see, it is dark. ', 'Yes (of course): ', 'One moment.\n\n'];
const after = ['', '', '\nIt is done.', ' Anything else?', '\n\nThe lamp, as you asked, glows.'];
const between = ['\n', '\n', ' and ', '\nThen this.\n'];

/** A reply with one or two calls, as a model writes it. */
function reply({ write }: Dialect, random: Rng): string {
  const first = random.pick(calls);
  const second = random.pick(calls);
  const text = random.oneIn(3)
    ? write([first, second])
    : random.oneIn(3)
      ? write([first]) + random.pick(between) + write([second])
      : write([first]);
  const fenced = random.oneIn(12) ? `\`\`\`json\n${text}\n\`\`\`` : text;
  return random.pick(before) + fenced + random.pick(after);
}

const inserted = [...'{}[]"\',:<>|/=()\n x7', '": "', '"}', '{"', '</', ', '];

type Mutation = (text: string, at: number, random: Rng) => string;

/** What goes wrong with the text of a model. */
const mutations: readonly Mutation[] = [
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(0, at),
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at, random) => text.slice(0, at) + text.slice(at + 1 + random.below(6)),
  (text, at, random) => text.slice(0, at) + random.pick(inserted) + text.slice(at),
  (text, at) => text.slice(0, at) + text.slice(at + 1, at + 2) + text.slice(at, at + 1) + text.slice(at + 2),
  (text, at, random) => text.slice(0, at) + text.slice(at, at + 1 + random.below(8)) + text.slice(at),
  // One bracket, quote or tag is lost.
  (text, _, random) => without(text, /[{}[\]]/g, random),
  (text, _, random) => without(text, /["']/g, random),
  (text, _, random) => without(text, /<[^<>\s]*>|\[\/?[A-Z_]+\]/g, random),
  // A tag comes twice, or another call begins inside of the first.
  (text, at, random) => text.slice(0, at) + random.pick(tagsIn(text)) + text.slice(at),
  (text, at, random) => text.slice(0, at) + random.pick(commonDialects).write([random.pick(calls)]) + text.slice(at),
];

const tagsIn = (text: string): readonly string[] => [
  ...(text.match(/<[^<>\s]*>|\[\/?[A-Z_]+\]/g) ?? []),
  '<tool_call>',
];

function without(text: string, pattern: RegExp, random: Rng): string {
  const found = [...text.matchAll(pattern)];
  if (found.length === 0) return text;
  const { index, 0: piece } = random.pick(found);
  return text.slice(0, index) + text.slice(index + piece.length);
}

/** A reply of a model with one to three mistakes in it. */
export interface MutatedReply {
  readonly dialect: Dialect;
  readonly text: string;
}

/** Replies with mistakes, in one format or in all that share their marks; the same for the same seed. */
export function* mutatedReplies(count: number, seed: number, only?: Dialect): Generator<MutatedReply> {
  const random = createRng(seed);
  for (const { dialect, text: whole } of wholeReplies(count, seed + 1, only)) {
    let text = whole;
    for (let left = 1 + random.below(3); left > 0; left--)
      text = random.pick(mutations)(text, random.below(text.length + 1), random);
    yield { dialect, text };
  }
}

/** Replies without mistakes, in one format or in all that share their marks; the same for the same seed. */
export function* wholeReplies(count: number, seed: number, only?: Dialect): Generator<MutatedReply> {
  const random = createRng(seed);
  for (let index = 0; index < count; index++) {
    const dialect = only ?? random.pick(dialects);
    yield { dialect, text: reply(dialect, random) };
  }
}
