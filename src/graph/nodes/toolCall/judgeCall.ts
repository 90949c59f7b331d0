import { randomInt } from 'node:crypto';
import type { Call, Turn } from '../../compile/turn.ts';
import type { AnsweredCall } from '../../../chat/calls.ts';
import { stringifyJson, type JsonObject } from '../../../chat/json/value.ts';
import type { DetectedCall, Tool } from '../../../chat/tool.ts';
import { validateCall } from '../../../chat/tools/validate/callIssues.ts';
import { argumentsAsStrings, coerceArguments } from '../../../chat/tools/validate/coerceArguments.ts';
import { collectMentions, type UserMentions } from '../../../chat/tools/validate/grounding.ts';
import { createInsight, type Insight } from '../../../chat/tools/validate/insight.ts';
import { answeredKey, callKey, knownResults } from './knownResults.ts';
import { splitThought } from './thought.ts';

/** What becomes of a detected call: it is sent, it has a result already, or it lacks something. */
export type JudgedCall =
  | { readonly kind: 'new'; readonly call: Call; readonly arguments: JsonObject }
  | {
      readonly kind: 'answered';
      /** Whether the result is of this turn, or stays in the dialog. */
      readonly event: 'call_repeated' | 'already_known';
      readonly answered: AnsweredCall;
    }
  | { readonly kind: 'incomplete'; readonly insight: Insight };

/** What calls are judged by. */
export interface CallRules {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The guidelines that brought tools, by the name of the tool. */
  readonly guidelines: ReadonlyMap<string, string>;
  readonly mentions: () => UserMentions;
  /** Whether a call that lacks something is sent all the same, with its issues. */
  readonly sendsIncomplete: boolean;
}

/** Judges a detected call: checks it against its tool and looks for a result that it has already. */
export function judgeCall(turn: Turn, detected: DetectedCall, rules: CallRules): JudgedCall {
  const { call, thought } = splitThought(detected);
  const { name, repaired } = call;
  const tool = rules.tools.get(name);
  const args = coerceArguments(call.arguments, tool);
  const answered = findAnswered(turn, name, args);
  if (answered) return { kind: 'answered', ...answered };
  const issues = validateCall(name, args, tool, rules.mentions());
  const insight = tool && !rules.sendsIncomplete ? createInsight(tool, call.arguments, issues) : undefined;
  if (insight) return { kind: 'incomplete', insight };
  const texts = { flatArguments: argumentsAsStrings(call.arguments), typedArguments: stringifyJson(args) };
  const facts = {
    because: rules.guidelines.get(name) ?? turn.route,
    known: tool !== undefined,
    consequential: tool?.consequential ?? false,
    repaired,
    issues,
  };
  const id = createCallId();
  return {
    kind: 'new',
    call: { id, name, ...texts, ...facts, ...(thought !== undefined && { thought }) },
    arguments: args,
  };
}

/** The user's own words in a dialog. It is tokenized whole, so only for a turn with a call, and once for all calls of it. */
export function lazyMentions({ dialog, message }: Turn): () => UserMentions {
  let mentions: UserMentions | undefined;
  return () => (mentions ??= collectMentions([...dialog.interactions.map(({ user }) => user), message]));
}

/** The result that a call with equal name and arguments has: of this turn, or of an earlier one that kept it. */
function findAnswered(
  turn: Turn,
  name: string,
  args: JsonObject,
): { readonly event: 'call_repeated' | 'already_known'; readonly answered: AnsweredCall } | undefined {
  const key = callKey(name, args);
  const inTurn = turn.exchanges.flatMap(({ calls }) => calls).find((call) => answeredKey(call) === key);
  if (inTurn) return { event: 'call_repeated', answered: inTurn };
  const known = knownResults(turn.dialog).get(key);
  if (!known) return undefined;
  const { call_id: id, ok, content } = known;
  return { event: 'already_known', answered: { id, name, arguments: args, ok, content, lifespan: 'TURN' } };
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
// The chat template of Mistral accepts only ids of exactly nine of these characters.
const idLength = 9;

const createCallId = (): string =>
  Array.from({ length: idLength }, () => idCharacters[randomInt(idCharacters.length)]).join('');
