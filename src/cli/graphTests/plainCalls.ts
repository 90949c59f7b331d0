import type { PlacedInference } from './recordingEntries.ts';
import type { CaseResult } from './runCase.ts';
import type { TracedCall } from './turnTrace.ts';

/**
 * Writes the calls of recorded answers in `<tool_call>` tags, in the turns for which `isRewritten` holds. The mock engine
 * has no chat template, and does not read calls in the layout of a model's own.
 */
export function withPlainCalls(
  inferences: readonly PlacedInference[],
  cases: readonly CaseResult[],
  isRewritten: (name: string, turn: number) => boolean,
): readonly PlacedInference[] {
  return inferences.map((one) => {
    if (one.answer.answer === undefined || !isRewritten(one.case, one.turn)) return one;
    const turn = cases.find(({ name }) => name === one.case)?.runs[0]?.turns[one.turn - 1];
    const calls = turn?.trace.calls.filter((_, index) => turn.inferenceOfCalls[index] === one.inference) ?? [];
    return calls.length === 0 ? one : { ...one, answer: { answer: calls.map(inTags).join('\n') } };
  });
}

const inTags = ({ tool: name, arguments: args }: TracedCall): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
