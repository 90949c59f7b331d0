import { toToolBlock } from '../../dialog.ts';
import type { Model, SamplingParams, Sequence } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import { coerceArguments } from '../../tools/validate/coerceArguments.ts';
import { createArgumentRules } from '../../tools/formats/callGrammar.ts';
import type { CallGrammar } from '../../tools/grammar/grammar.ts';
import { fits } from '../../tools/grammar/matcher.ts';
import type { Rule } from '../../tools/grammar/rule.ts';
import type { DetectedCall, Detection, ToolCallFormat } from '../../tools/tool.ts';
import { stringifyJson } from '../../tools/json/value.ts';
import { questionTools, toolQuestions, type ToolQuestion, type ExpectedCall } from './toolQuestions.ts';

/** What became of a question. */
export type AnswerOutcome = 'right' | 'wrong call' | 'no call' | 'needless call' | 'cut off' | 'failed';

export interface BenchmarkAnswer {
  readonly message: string;
  /** Whether a call was due. */
  readonly expectsCall: boolean;
  readonly outcome: AnswerOutcome;
  /** What the model wrote, or why it could not. */
  readonly text: string;
}

/** How a model did in one format; `strict` is undefined where the format has no grammar. */
export interface FormatScore {
  readonly format: string;
  readonly free: readonly BenchmarkAnswer[];
  readonly strict: readonly BenchmarkAnswer[] | undefined;
}

export interface ToolBenchmarkOptions {
  /** How the model draws; the likeliest token whatever it says. */
  readonly sampling: SamplingParams;
  readonly signal: AbortSignal;
  readonly onAnswer: () => void;
}

/** How many answers a trial of some formats takes. */
export const countAnswers = (formats: readonly ToolCallFormat[]): number =>
  formats.reduce((sum, { grammar }) => sum + (grammar ? 2 : 1), 0) * toolQuestions.length;

/** Asks a model the tool questions in one format, free and strict, as a ToolCall node would. */
export async function benchmarkFormat(
  model: Model,
  format: ToolCallFormat,
  options: ToolBenchmarkOptions,
): Promise<FormatScore> {
  await using sequence = model.openSequence();
  const free: BenchmarkAnswer[] = [];
  const strict: BenchmarkAnswer[] = [];
  const constraint = createConstraint(format);
  // The strict answer directly follows the free one, so that it reuses the prefilled prompt.
  for (const question of toolQuestions) {
    free.push(await askQuestion(sequence, format, question, undefined, options));
    if (constraint) strict.push(await askQuestion(sequence, format, question, constraint, options));
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

/** How many answers are right. */
export const countRight = (answers: readonly BenchmarkAnswer[] = []): number =>
  answers.filter(({ outcome }) => outcome === 'right').length;

// No call that is due is nearly as long, and a model that never ends is soon known.
const maxTokens = 128;

async function askQuestion(
  sequence: Sequence,
  format: ToolCallFormat,
  { message, expectedCall: wants }: ToolQuestion,
  constraint: BenchmarkConstraint | undefined,
  { sampling, signal, onAnswer }: ToolBenchmarkOptions,
): Promise<BenchmarkAnswer> {
  const prompt = {
    messages: [{ role: 'user', text: message }],
    tools: toToolBlock(questionTools, format),
    thinking: false,
  } as const;
  const asked = { message, expectsCall: wants !== undefined };
  try {
    const { text, stopped } = await sequence.generate(prompt, {
      sampling: { ...sampling, temperature: 0, max_tokens: maxTokens },
      signal,
      controlTokens: true,
      ...(constraint && { grammar: constraint.grammar }),
    });
    signal.throwIfAborted();
    const detection = format.detect(text);
    return { ...asked, outcome: outcomeOf(wants, detection, { constraint, isCut: stopped === 'length' }), text };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...asked, outcome: 'failed', text: error.message };
  } finally {
    onAnswer();
  }
}

function outcomeOf(
  wants: ExpectedCall | undefined,
  { calls, truncated }: Detection,
  { constraint, isCut }: { readonly constraint: BenchmarkConstraint | undefined; readonly isCut: boolean },
): AnswerOutcome {
  const allowed = constraint ? calls.filter((call) => isAllowed(call, constraint)) : calls;
  const [call] = allowed;
  if (!call && (truncated || isCut)) return 'cut off';
  if (!wants) return call ? 'needless call' : 'right';
  if (!call) return 'no call';
  return allowed.length === 1 && matchesExpected(call, wants) ? 'right' : 'wrong call';
}

// A strict node ignores all other calls, too.
function isAllowed({ name, arguments: args }: DetectedCall, { rules }: BenchmarkConstraint): boolean {
  const rule = rules.get(name);
  return rule !== undefined && fits(stringifyJson(args), rule);
}

function matchesExpected({ name, arguments: args }: DetectedCall, wants: ExpectedCall): boolean {
  const tool = questionTools.find((one) => one.name === name);
  if (name !== wants.name || args.size !== Object.keys(wants.arguments).length) return false;
  const typed = coerceArguments(args, tool);
  return Object.entries(wants.arguments).every(([param, values]) => {
    const given = normalized(stringifyJson(typed.get(param)));
    return values.some((value) => normalized(stringifyJson(value)) === given);
  });
}

const normalized = (text: string): string => text.toLowerCase().replaceAll(/^"\s*|\s*"$/g, '"');
