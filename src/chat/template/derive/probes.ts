import type { ReplyMarks } from '../../replyMarks.ts';
import { marksIn, type CallLayout } from '../../dialect/layout.ts';
import type { ArgumentsSchema, Tool } from '../../tool.ts';

/** A call that a conversation had when it was rendered. */
export interface SampleCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An assistant message with calls as a chat template writes it, from the generation prompt to the end of the prompt. */
export interface CallSample {
  readonly text: string;
  readonly calls: readonly SampleCall[];
}

/** The messages from which a layout is derived. Their names, keys and values occur once in each text. */
export interface LayoutSamples {
  /** One call with the parameters of `sampleArguments`. */
  readonly one: CallSample;
  /** One call without arguments; undefined: the template refuses it. */
  readonly empty: CallSample | undefined;
  /** Two calls with the parameters of `sampleArguments`; undefined: the template writes one call only. */
  readonly two: CallSample | undefined;
  /** A message without calls. */
  readonly plain: { readonly text: string; readonly answer: string };
  /** One call after text or reasoning, which may be left out; the call is that of `one`. */
  readonly preceded: readonly { readonly text: string; readonly preceding: string }[];
  /** One call with a list of strings; undefined: the template refuses it. */
  readonly list: CallSample | undefined;
  /** true, false and null as arguments, or only the first two, if they are written. */
  readonly literals: CallSample | undefined;
  /** Those of the template's replies. */
  readonly marks: ReplyMarks;
}

/** Calls are written in no known notation; the message says what could not be explained. */
export class UnknownLayout extends Error {}

/** A small conversation with calls, by which it is proved that a format reads what a template writes. */
export interface ToolProbe {
  readonly name: string;
  /** Whether a format that fails it is not used; what is not required is a limit of the notation. */
  readonly required: boolean;
  readonly calls: readonly SampleCall[];
  readonly tools: readonly Tool[];
  /** Text of the assistant before the calls. */
  readonly text?: string;
  readonly reasoning?: string;
  /** Result of the first call. */
  readonly result?: string;
}

const toolNames = ['lamp_zq_tool', 'door_zq_tool'] as const;

const toolsWith = (
  properties: NonNullable<ArgumentsSchema['properties']>,
  required: readonly string[] = [],
): readonly Tool[] =>
  toolNames.map((name) => ({
    name,
    description: 'Does what is asked.',
    parameters: { type: 'object', properties, required },
    consequential: false,
    notes: new Map(),
  }));

// Sentinels: no template contains them. The keys are in alphabetical order, for some templates sort them. Few parameters
// for each probe, because a template writes all of them each time.

export const probeTools = toolsWith({
  alpha_zq: { type: 'string', description: 'A name.' },
  beta_zq: { type: 'integer', description: 'A count.' },
  gamma_zq: { type: 'string', description: 'A color.' },
});

// Of a parameter that is not required, null is no text.
const textTools = toolsWith({ alpha_zq: { type: 'string', description: 'A name.' } }, ['alpha_zq']);

const typedTools = toolsWith({
  delta_zq: { type: 'number', description: 'A size.' },
  flag_zq: { type: 'boolean', description: 'A choice.' },
  list_zq: { type: 'array', description: 'Names.', items: { type: 'string' } },
  place_zq: {
    type: 'object',
    description: 'A place.',
    properties: {
      inner_zq: { type: 'string', description: 'Its name.' },
      outer_zq: { type: 'integer', description: 'Its number.' },
    },
  },
});

// With a type that some templates refuse.
const nullTools = toolsWith({
  flag_zq: { type: 'boolean', description: 'A choice.' },
  off_zq: { type: 'boolean', description: 'Another choice.' },
  void_zq: { type: 'null', description: 'Nothing.' },
});

const [lamp, door] = toolNames;

const call = (args: SampleCall['arguments'], name: string = lamp, id = 'zqid00001'): SampleCall => ({
  id,
  name,
  arguments: args,
});

const required = (name: string, ...calls: readonly SampleCall[]): ToolProbe => ({
  name,
  required: true,
  calls,
  tools: probeTools,
});
const typed = (name: string, args: SampleCall['arguments']): ToolProbe => ({
  ...required(name, call(args)),
  tools: typedTools,
});
const limit = (name: string, ...calls: readonly SampleCall[]): ToolProbe => ({
  ...required(name, ...calls),
  required: false,
});

const mixed = { alpha_zq: 'Zqword one', beta_zq: 48151, gamma_zq: 'Zqword two' };
const otherMixed = { alpha_zq: 'Zqword three', beta_zq: 62342, gamma_zq: 'Zqword four' };

/** The conversations from which the layout of calls is derived. */
export const layoutProbes = {
  one: required('one call', call(mixed)),
  empty: required('a call without arguments', call({})),
  two: required('two calls in one message', call(mixed), call(otherMixed, door, 'zqid00002')),
  list: typed('a list', { list_zq: ['Zqword', 'nine'] }),
  literals: {
    ...required('true, false and null', call({ flag_zq: true, off_zq: false, void_zq: null })),
    tools: nullTools,
  },
  booleans: required('true and false', call({ flag_zq: true, off_zq: false })),
  afterText: { ...limit('text before a call', call(mixed)), text: 'Zqword before.' },
  afterReasoning: { ...limit('reasoning before a call', call(mixed)), reasoning: 'Zqword thought.' },
} as const;

/** The probes of a proof. `marks`: what the template writes around calls and values. */
export const proofProbes = (marks: readonly string[]): readonly ToolProbe[] => [
  layoutProbes.one,
  required('a call of another tool', call({ alpha_zq: 'Zqword five' }, door)),
  layoutProbes.two,
  layoutProbes.empty,
  required('a string with quotes', call({ alpha_zq: 'Zqword "six" said' })),
  required('a string with line breaks', call({ alpha_zq: 'Zqword\nseven\n\n  eight' })),
  required('a string that is not ASCII', call({ alpha_zq: 'Zqwörd 猫 🐈' })),
  required('an integer', call({ beta_zq: 48151 })),
  required('a negative integer', call({ beta_zq: -31337 })),
  typed('a fraction', { delta_zq: 2.75 }),
  typed('true', { flag_zq: true }),
  typed('false', { flag_zq: false }),
  { ...required('null', call({ void_zq: null })), tools: nullTools },
  layoutProbes.list,
  typed('an object', { place_zq: { inner_zq: 'Zqword', outer_zq: 7 } }),
  layoutProbes.afterText,
  layoutProbes.afterReasoning,
  { ...limit('a result after a call', call(mixed)), result: 'Zqword result.' },
  limit('a string with an apostrophe', call({ alpha_zq: "Zqword's ten" })),
  limit('a string with a backslash', call({ alpha_zq: 'Zqword \\n eleven' })),
  ...marks.map((mark) => limit(`a string with ${JSON.stringify(mark)}`, call({ alpha_zq: `Zqword ${mark} twelve` }))),
  { ...limit('a string that looks like null', call({ alpha_zq: 'null' })), tools: textTools },
  limit('a string that looks like a number', call({ alpha_zq: '48151' })),
  limit('a string with white space at its ends', call({ alpha_zq: '  Zqword thirteen ' })),
  limit('a string with line breaks at its ends', call({ alpha_zq: '\nZqword eleven\n' })),
];

/** Whether every template must write a probe: no call, or one with a string alone. Others show limits. */
export const isBasic = ({ calls: [call, ...others], text, reasoning }: ToolProbe): boolean =>
  !call ||
  (others.length === 0 && text === undefined && reasoning === undefined && call.arguments['alpha_zq'] !== undefined);

/** The probe whose text must have no call. */
export const probeWithoutCalls = required('a message without calls');
export const plainProbe = 'Zqword answer.';

/** The last mark before a name, and what ends a value: what a value may not contain in some notations. */
export function marksOf({ open, before, arguments: notation }: CallLayout): readonly string[] {
  const marks = [marksIn(open, ...before).at(-1) ?? ''];
  if (notation.kind === 'parameters') marks.push(notation.string.close.trim(), notation.style.quote);
  return [...new Set(marks)].filter((mark) => mark !== '');
}
