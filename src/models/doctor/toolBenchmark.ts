import { blockOf } from '../../dialog.ts';
import type { Model, Sampling, Sequence } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import { typedMembers } from '../../tools/validate/coerceArguments.ts';
import { argumentRules } from '../../tools/formats/callGrammar.ts';
import { fits } from '../../tools/grammar/matcher.ts';
import type { DetectedCall, Detection, ToolCallFormat } from '../../tools/tool.ts';
import { jsonText } from '../../tools/json/value.ts';
import { offered, toolQuestions, type ToolQuestion, type WantedCall } from './toolQuestions.ts';

/** What became of a question. */
export type Outcome = 'right' | 'wrong call' | 'no call' | 'needless call' | 'cut off' | 'failed';

export interface Answer {
  readonly message: string;
  /** Whether a call was due. */
  readonly due: boolean;
  readonly outcome: Outcome;
  /** What the model wrote, or why it could not. */
  readonly text: string;
}

/** How a model did in one format; `strict` is undefined where the format has no grammar. */
export interface FormatTrial {
  readonly format: string;
  readonly free: readonly Answer[];
  readonly strict: readonly Answer[] | undefined;
}

export interface TrialOptions {
  /** How the model draws; the likeliest token whatever it says. */
  readonly sampling: Sampling;
  readonly signal: AbortSignal;
  readonly onAnswer: () => void;
}

/** How many answers a trial of some formats takes. */
export const answersIn = (formats: readonly ToolCallFormat[]): number =>
  formats.reduce((sum, { grammar }) => sum + (grammar ? 2 : 1), 0) * toolQuestions.length;

/** Asks a model the tool questions in one format, free and strict, as a ToolCall node would. */
export async function tryFormat(model: Model, format: ToolCallFormat, options: TrialOptions): Promise<FormatTrial> {
  await using sequence = model.openSequence();
  const free: Answer[] = [];
  const strict: Answer[] = [];
  // One after the other, so that the second finds its prompt evaluated.
  for (const question of toolQuestions) {
    free.push(await ask(sequence, format, question, false, options));
    if (format.grammar) strict.push(await ask(sequence, format, question, true, options));
  }
  return { format: format.name, free, strict: format.grammar && strict };
}

/** How many answers are right. */
export const rightIn = (answers: readonly Answer[] = []): number =>
  answers.filter(({ outcome }) => outcome === 'right').length;

// No call that is due is nearly as long, and a model that never ends is soon known.
const maxTokens = 128;

async function ask(
  sequence: Sequence,
  format: ToolCallFormat,
  { message, wants }: ToolQuestion,
  isStrict: boolean,
  { sampling, signal, onAnswer }: TrialOptions,
): Promise<Answer> {
  const prompt = {
    messages: [{ role: 'user', text: message }],
    tools: blockOf(offered, format),
    thinking: false,
  } as const;
  const grammar = isStrict ? format.grammar?.(offered, { kind: 'auto' }) : undefined;
  const asked = { message, due: wants !== undefined };
  try {
    const { text, stopped } = await sequence.generate(prompt, {
      sampling: { ...sampling, temperature: 0, max_tokens: maxTokens },
      signal,
      controlTokens: true,
      ...(grammar && { grammar }),
    });
    signal.throwIfAborted();
    const detection = format.detect(text);
    return { ...asked, outcome: outcomeOf(wants, detection, { isStrict, isCut: stopped === 'length' }), text };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...asked, outcome: 'failed', text: error.message };
  } finally {
    onAnswer();
  }
}

function outcomeOf(
  wants: WantedCall | undefined,
  { calls, truncated }: Detection,
  { isStrict, isCut }: { readonly isStrict: boolean; readonly isCut: boolean },
): Outcome {
  const heard = isStrict ? calls.filter(isBound) : calls;
  const [call] = heard;
  if (!call && (truncated || isCut)) return 'cut off';
  if (!wants) return call ? 'needless call' : 'right';
  if (!call) return 'no call';
  return heard.length === 1 && isWanted(call, wants) ? 'right' : 'wrong call';
}

// The server hears no other calls of a strict node.
function isBound({ name, arguments: args }: DetectedCall): boolean {
  const rule = argumentRules(offered).get(name);
  return rule !== undefined && fits(jsonText(args), rule);
}

function isWanted({ name, arguments: args }: DetectedCall, wants: WantedCall): boolean {
  const tool = offered.find((one) => one.name === name);
  if (name !== wants.name || args.size !== Object.keys(wants.arguments).length) return false;
  const typed = typedMembers(args, tool);
  return Object.entries(wants.arguments).every(([param, values]) => {
    const given = folded(jsonText(typed.get(param)));
    return values.some((value) => folded(jsonText(value)) === given);
  });
}

const folded = (text: string): string => text.toLowerCase().replaceAll(/^"\s*|\s*"$/g, '"');
