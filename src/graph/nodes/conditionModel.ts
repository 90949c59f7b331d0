import type { NodeContext } from '../compile/node.ts';
import { answeredCalls, type Turn } from '../compile/turn.ts';
import { chatProjection } from '../projection/projection.ts';
import { resultContent } from '../../chat/tool.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import { InferenceRunner, resolveModel, requireScores } from './inference.ts';

const systemPrompt = "Read the user's message and decide whether a condition holds. Reply with yes or no only.";

/** A question that a model answers with yes or no. The condition is last, so that all conditions share a prefix. */
function questionOf(turn: Turn, condition: string): string {
  const results = answeredCalls(turn.exchanges).map(
    (call) => `Results: ${call.name} ${stringifyJson(call.arguments)}: ${resultContent(call)}`,
  );
  const line = condition.trim().replaceAll(/\s*[\r\n\u2028\u2029]+\s*/g, ' ');
  return [`Message: ${turn.message}`, ...results, `Condition: ${line}`].join('\n');
}

/**
 * Lets a model decide the conditions of guidelines, one after another in one sequence.
 * @throws InvalidParams when the model cannot be used.
 */
export async function createConditionModel(modelName: string, context: NodeContext) {
  const lease = await resolveModel(context, modelName);
  requireScores(lease.model);
  const inference = new InferenceRunner(lease, context);
  const projection = chatProjection(lease.model);
  const createRequest = (turn: Turn, condition: string) =>
    ({
      projection,
      system: systemPrompt,
      current: [{ role: 'user', text: questionOf(turn, condition) }],
      exchanges: false,
    }) as const;
  return {
    /** The probability of "yes", of the two answers. */
    async probability(turn: Turn, condition: string): Promise<number> {
      const { scores } = await inference.score(turn, createRequest(turn, condition), ['yes', 'no']);
      const [yes = 0, no = 0] = scores;
      return 1 / (1 + Math.exp(no - yes));
    },
    prefill: (turn: Turn) => inference.prefill(turn, { ...createRequest(turn, ''), thinking: false, sampling: {} }),
    [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
  };
}
