import type { Turn } from '../../compile/turn.ts';
import { answerGrammar } from '../../../chat/grammar/jsonSchema/fromSchema.ts';
import type { Rule } from '../../../chat/grammar/rule.ts';
import type { InferenceRunner, PromptRequest } from '../inference.ts';

/** How an answer in JSON is generated. */
export interface JsonAnswerOptions {
  readonly nodeName: string;
  /** What the answer matches. */
  readonly rule: Rule;
  /** Called with each piece of the answer. */
  readonly onText?: (piece: string) => void;
}

/** Generates an answer in JSON. One that is cut off is a warning of the turn. */
export async function completeJson(
  turn: Turn,
  inference: InferenceRunner,
  request: PromptRequest,
  { nodeName, rule, ...streaming }: JsonAnswerOptions,
): Promise<string> {
  const { text, finishReason } = await inference.complete(turn, request, {
    grammar: answerGrammar(rule),
    ...streaming,
  });
  if (finishReason === 'length') turn.warn(`${nodeName} was cut off inside its JSON; raise sampling.max_tokens`);
  return text;
}
