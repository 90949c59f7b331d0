import { neverAborted } from '../../base/abort.ts';
import type { DetectedCall, Detection, Tool, ToolCallFormat } from '../../chat/tool.ts';
import { toToolBlock } from '../../chat/dialog.ts';
import type { Model, Sequence } from '../../inference/contract/engine.ts';
import type { SamplingParams } from '../../inference/contract/samplingParams.ts';
import { Fault } from '../../protocol/fault.ts';
import { coerceArguments } from '../../chat/tools/validate/coerceArguments.ts';
import { createArgumentRules } from '../../chat/formats/callGrammar.ts';
import type { CallGrammar, Rule } from '../../chat/grammar/rule.ts';
import { fits } from '../../chat/grammar/matcher.ts';
import { stringifyJson } from '../../chat/json/value.ts';

export type AnswerOutcome = 'right' | 'wrong call' | 'no call' | 'unexpected call' | 'cut off' | 'failed';

export interface BenchmarkAnswer {
  readonly message: string;
  readonly expectsCall: boolean;
  readonly outcome: AnswerOutcome;
  /** The generated text, or the error message if generation failed. */
  readonly text: string;
}

export interface FormatScore {
  readonly format: string;
  /** Unconstrained answers. */
  readonly free: readonly BenchmarkAnswer[];
  /** Grammar-constrained answers; undefined if the format has no grammar. */
  readonly strict: readonly BenchmarkAnswer[] | undefined;
}

/** Number of answers that a benchmark of some formats takes. */
export const countAnswers = (formats: readonly ToolCallFormat[]): number =>
  formats.reduce((sum, { grammar }) => sum + (grammar ? 2 : 1), 0) * toolQuestions.length;

/**
 * Asks a model the tool questions in one format, as a ToolCall node would, and again with the format's grammar.
 * @param sampling temperature and max_tokens are replaced (greedy sampling).
 * @param onAnswer is called after each answer.
 */
export async function benchmarkFormat(
  model: Model,
  format: ToolCallFormat,
  sampling: SamplingParams,
  onAnswer: () => void,
): Promise<FormatScore> {
  await using sequence = model.openSequence();
  const free: BenchmarkAnswer[] = [];
  const strict: BenchmarkAnswer[] = [];
  const constraint = createConstraint(format);
  const asking = { sampling, onAnswer, replyMarks: model.replyMarks };
  // The strict answer directly follows the free one, so that it reuses the prefilled prompt.
  for (const question of toolQuestions) {
    free.push(await askQuestion(sequence, format, question, undefined, asking));
    if (constraint) strict.push(await askQuestion(sequence, format, question, constraint, asking));
  }
  return { format: format.name, free, strict: constraint && strict };
}

/** Constrained decoding of the strict answers in one format, compiled once for all questions. */
interface BenchmarkConstraint {
  readonly grammar: CallGrammar;
  /** Grammar rule of the arguments of each tool, by tool name. */
  readonly rules: ReadonlyMap<string, Rule>;
}

function createConstraint(format: ToolCallFormat): BenchmarkConstraint | undefined {
  const grammar = format.grammar?.(questionTools, { kind: 'auto' });
  return grammar && { grammar, rules: createArgumentRules(questionTools) };
}

/** Whether an error is about the prompt of one answer, and not about the engine, which has crashed or given the model up. */
export const isAnswerFault = (error: unknown): error is Fault =>
  error instanceof Fault && error.name !== 'ENGINE_CRASHED' && error.name !== 'MODEL_LOAD_FAILED';

export const countRight = (answers: readonly BenchmarkAnswer[] = []): number =>
  answers.filter(({ outcome }) => outcome === 'right').length;

// Expected calls are much shorter; more tokens only delay the result for a model that does not stop.
const maxTokens = 128;

interface AskOptions extends Pick<Model, 'replyMarks'> {
  readonly sampling: SamplingParams;
  readonly onAnswer: () => void;
}

async function askQuestion(
  sequence: Sequence,
  format: ToolCallFormat,
  { message, expectedCall }: ToolQuestion,
  constraint: BenchmarkConstraint | undefined,
  { sampling, onAnswer, replyMarks }: AskOptions,
): Promise<BenchmarkAnswer> {
  const prompt = {
    messages: [{ role: 'user', text: message }],
    tools: toToolBlock(questionTools, format),
    thinking: false,
  } as const;
  const stop = [...sampling.stop, ...(format.stop ?? [])];
  const question = { message, expectsCall: expectedCall !== undefined };
  try {
    const { text, finishReason } = await sequence.generate(prompt, {
      sampling: { ...sampling, stop, temperature: 0, max_tokens: maxTokens },
      signal: neverAborted(),
      controlTokens: true,
      ...(constraint && { grammar: constraint.grammar }),
    });
    const detection = format.detect(text, { tools: questionTools, marks: replyMarks });
    return { ...question, outcome: gradeAnswer(expectedCall, detection, constraint, finishReason === 'length'), text };
  } catch (error) {
    if (!isAnswerFault(error)) throw error;
    return { ...question, outcome: 'failed', text: error.message };
  } finally {
    onAnswer();
  }
}

function gradeAnswer(
  expected: ExpectedCall | undefined,
  { calls, truncated }: Detection,
  constraint: BenchmarkConstraint | undefined,
  isCut: boolean,
): AnswerOutcome {
  const allowed = constraint ? calls.filter((call) => isAllowed(call, constraint)) : calls;
  const [call] = allowed;
  if (!call && (truncated || isCut)) return 'cut off';
  if (!expected) return call ? 'unexpected call' : 'right';
  if (!call) return 'no call';
  return allowed.length === 1 && matchesExpected(call, expected) ? 'right' : 'wrong call';
}

// A strict node ignores all other calls, too.
function isAllowed({ name, arguments: args }: DetectedCall, { rules }: BenchmarkConstraint): boolean {
  const rule = rules.get(name);
  return rule !== undefined && fits(stringifyJson(args), rule);
}

function matchesExpected({ name, arguments: args }: DetectedCall, expected: ExpectedCall): boolean {
  const tool = questionTools.find((candidate) => candidate.name === name);
  if (name !== expected.name || args.size !== Object.keys(expected.arguments).length) return false;
  const typed = coerceArguments(args, tool);
  return Object.entries(expected.arguments).every(([param, values]) => {
    const actual = normalize(stringifyJson(typed.get(param)));
    return values.some((value) => normalize(stringifyJson(value)) === actual);
  });
}

// Case and outer white space of strings do not count.
const normalize = (text: string): string => text.toLowerCase().replaceAll(/^"\s*|(?<!\s)\s*"$/g, '"');

interface ToolQuestion {
  readonly message: string;
  /** The right call; undefined: no tool fits, and the model should answer in plain text. */
  readonly expectedCall: ExpectedCall | undefined;
}

interface ExpectedCall {
  readonly name: string;
  /** Accepted values of each parameter; case-insensitive. */
  readonly arguments: Readonly<Record<string, readonly (string | number | boolean)[]>>;
}

type Properties = NonNullable<Tool['parameters']['properties']>;

const createTool = (name: string, description: string, properties: Properties): Tool => ({
  name,
  description,
  parameters: { type: 'object', properties, required: Object.keys(properties) },
  consequential: false,
  notes: new Map(),
});

/** Tools offered with every question. They differ clearly, so that a small model can choose. */
const questionTools: readonly Tool[] = [
  createTool('set_light', 'Turn the light of a room on or off.', {
    room: { type: 'string', description: 'Which room.' },
    on: { type: 'boolean', description: 'true turns it on, false turns it off.' },
  }),
  createTool('give_item', 'Give the user things out of the store.', {
    item: { type: 'string', description: 'What is given.' },
    count: { type: 'integer', description: 'How many.' },
  }),
];

const light = (room: string, on: boolean): ExpectedCall => ({
  name: 'set_light',
  arguments: { room: [room, `the ${room}`], on: [on] },
});
const gift = (singular: string, plural: string, count: number): ExpectedCall => ({
  name: 'give_item',
  arguments: { item: [singular, plural], count: [count] },
});

/** Questions of the tool benchmark: five want a call, the last one none. */
const toolQuestions: readonly ToolQuestion[] = [
  { message: 'Please turn on the light in the kitchen.', expectedCall: light('kitchen', true) },
  { message: 'Switch the bedroom light off.', expectedCall: light('bedroom', false) },
  { message: 'Give me 3 apples.', expectedCall: gift('apple', 'apples', 3) },
  { message: 'I need 12 torches for the cave.', expectedCall: gift('torch', 'torches', 12) },
  { message: 'It is dark in the cellar, I cannot see a thing in there.', expectedCall: light('cellar', true) },
  { message: 'Good evening! How are you today?', expectedCall: undefined },
];
