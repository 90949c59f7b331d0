import { memoized } from '../../../base/memoized.ts';
import { randomInt } from 'node:crypto';
import { answeredCalls, type Call, type Turn } from '../../compile/turn.ts';
import { parseJsonObject } from '../../../chat/json/lenientParser.ts';
import type { ParsedReply } from '../../../chat/reply/parseReply.ts';
import type { DetectedCall, Tool, AnsweredCall } from '../../../chat/tool.ts';
import { isAllowed } from './callConstraint.ts';
import type { Dialog, DialogResult } from '../../../chat/dialog.ts';
import { canonicalJson, type JsonObject, stringifyJson } from '../../../chat/json/value.ts';
import {
  createInsight,
  type Insight,
  type Mentions,
  toInsight,
  validateCall,
} from '../../../chat/tools/validate/callIssues.ts';
import { argumentsAsStrings, coerceArguments } from '../../../chat/tools/validate/coerceArguments.ts';
import { collectMentions, type UserMentions } from '../../../chat/tools/validate/grounding.ts';
import { echoReason } from '../argumentsEcho.ts';
import { splitThought } from './toolDeclarations.ts';
import type { TurnTools } from './turnTools.ts';

/** The reply of a model to one question for calls. */
export interface Attempt {
  readonly calls: readonly JudgedCall[];
  /** The text in addition to the calls, without markup of calls. */
  readonly answer: string;
  /** What the turn warns of, unless another attempt succeeds. */
  readonly warnings: readonly string[];
  /** What the model has to be asked again for: why no call of the reply can be used; undefined: there is nothing to mend. */
  readonly problem: string | undefined;
}

interface AttemptOptions extends CallRules {
  readonly nodeName: string;
  /** Gives a call of the tool of the pending call its values. */
  readonly complete: (calls: readonly DetectedCall[]) => readonly DetectedCall[];
  /** Whether max_tokens ended the reply. */
  readonly isCutOff: boolean;
  /** Whether the node asks again after a mistake. */
  readonly canRetry: boolean;
  /** Whether a call of an unknown tool is such a mistake. */
  readonly retriesUnknown: boolean;
}

/** Judges the calls of a reply. What could not be read is sent to the client (NodeEvent call_unread). */
export async function judgeReply(turn: Turn, reply: ParsedReply, options: AttemptOptions): Promise<Attempt> {
  const { nodeName, turnTools, isCutOff, canRetry, retriesUnknown } = options;
  const { declarations, tools, constraint } = turnTools;
  const unread = [...reply.unread];
  const echo = reply.calls.length === 0 ? echoReason(reply.answer, turn) : undefined;
  if (echo !== undefined) unread.push({ text: reply.answer, reason: echo });
  // A format that does not mark its calls has found that the text ends inside of one.
  if (reply.truncated && unread.length === 0)
    unread.push({ text: reply.content, reason: 'the text ends inside a call' });
  const settings = [...(constraint.grammar ? [] : ['strict']), ...(canRetry ? [] : ['retries'])];
  const others = settings.length === 0 ? 'choose another model or format' : `set ${settings.join(' or ')}`;
  const limit = constraint.grammar ? 'max_tokens_per_call' : 'sampling.max_tokens';
  const fix = isCutOff && reply.truncated ? `raise ${limit}` : others;
  const warnings = unread.map(({ reason }) => `${nodeName} wrote a call that could not be used: ${reason}; ${fix}`);
  const allowed: DetectedCall[] = [];
  for (const call of reply.calls) {
    const { name, raw: text } = call;
    if (declarations.tools.has(name) && !tools.has(name)) {
      warnings.push(`${nodeName} wrote a call of ${name}, which it does not offer in this turn`);
      unread.push({ text, reason: 'its tool is not offered in this turn' });
    } else if (!(await isAllowed(call, constraint))) {
      warnings.push(`${nodeName} wrote a call that its tools do not allow`);
      unread.push({ text, reason: 'the declared tools do not allow it' });
    } else allowed.push(call);
  }
  for (const { text, reason } of unread) turn.emitEvent('call_unread', { text, reason }, { always: true });
  const judged = options.complete(allowed).map((call) => judgeCall(turn, call, options));
  const calls = options.sendsIncomplete ? judged : [...judged, ...unreadInsights(reply.unread, tools)];
  const problem = findProblem(calls, unread, retriesUnknown ? tools : undefined);
  return { calls, answer: echo === undefined ? reply.answer : '', warnings, problem };
}

/** Calls of tools that could not be read lack all that their tools require. */
function unreadInsights(unread: ParsedReply['unread'], tools: ReadonlyMap<string, Tool>): readonly JudgedCall[] {
  const names = [...tools.keys()].sort((a, b) => b.length - a.length);
  return unread.flatMap(({ text, reason }) => {
    const tool = tools.get(names.find((name) => text.includes(name)) ?? '');
    const args: JsonObject = new Map();
    const issues = tool ? validateCall(tool.name, args, tool, nothingSaid) : [];
    return tool ? [{ kind: 'incomplete', insight: { ...toInsight(tool, args, issues), unread: reason } }] : [];
  });
}

const noMentions = collectMentions([]);
const nothingSaid: Mentions = { user: noMentions, context: () => noMentions };

/** @param tools those that a call has to name; undefined: it may name any. */
function findProblem(
  calls: readonly JudgedCall[],
  unread: ParsedReply['unread'],
  tools: ReadonlyMap<string, Tool> | undefined,
): string | undefined {
  const unknown = tools
    ? calls.flatMap((judged) => (judged.kind === 'new' && !judged.call.known ? [judged.call.name] : []))
    : [];
  const incompletes = calls.filter((judged) => judged.kind === 'incomplete');
  if (calls.length > unknown.length + incompletes.length) return undefined;
  const [bad] = unread;
  if (bad) return `the call could not be read: ${bad.reason}`;
  if (tools && unknown.length > 0) return `there is no tool "${unknown[0]}", but ${[...tools.keys()].join(', ')}`;
  const [incomplete] = incompletes;
  if (!incomplete) return undefined;
  const { tool, missing, invalid } = incomplete.insight;
  const params = [...missing, ...invalid].map(({ message }) => message);
  return `the call of ${tool} is incomplete: ${params.join('; ')}`;
}

/** What becomes of a detected call: it is sent, it has a result already, it is too uncertain, or it lacks something. */
export type JudgedCall =
  | { readonly kind: 'new'; readonly call: Call; readonly arguments: JsonObject }
  | {
      readonly kind: 'answered';
      /** Whether the result is of this turn, or stays in the dialog. */
      readonly event: 'call_repeated' | 'already_known';
      readonly answered: AnsweredCall;
    }
  /** Its confidence is too low: it is not sent. */
  | { readonly kind: 'unsure'; readonly insight: Insight }
  | { readonly kind: 'incomplete'; readonly insight: Insight };

/** What calls are judged by. */
export interface CallRules {
  readonly turnTools: TurnTools;
  readonly mentions: () => Mentions;
  /** Whether a call that lacks something is sent all the same, with its issues. */
  readonly sendsIncomplete: boolean;
  /** The least confidence of a call that is sent, if it is known. */
  readonly minConfidence: number;
}

/** Judges a detected call: checks it against its tool and looks for a result that it has already. */
export function judgeCall(
  turn: Turn,
  detected: DetectedCall,
  { turnTools, mentions, sendsIncomplete, minConfidence }: CallRules,
): JudgedCall {
  const { call, thought } = splitThought(detected);
  const { name, repaired, confidence } = call;
  const tool = turnTools.tools.get(name);
  const args = coerceArguments(call.arguments, tool);
  const answered = findAnswered(turn, name, args);
  if (answered) return answered;
  const issues = validateCall(name, args, tool, mentions());
  const insight = tool && !sendsIncomplete ? createInsight(tool, call.arguments, issues) : undefined;
  if (insight) return { kind: 'incomplete', insight };
  if (confidence !== undefined && confidence < minConfidence)
    return { kind: 'unsure', insight: { tool: name, arguments: call.arguments, missing: [], invalid: [], confidence } };
  const texts = { flatArguments: argumentsAsStrings(call.arguments), typedArguments: stringifyJson(args) };
  const facts = {
    because: guidelineOf(turn, name, turnTools) ?? turn.route,
    known: tool !== undefined,
    consequential: tool?.consequential ?? false,
    repaired,
    issues,
  };
  const more = { ...(thought !== undefined && { thought }), ...(confidence !== undefined && { confidence }) };
  const recorded = { id: createCallId(), name, ...texts, ...facts, ...more };
  return { kind: 'new', call: recorded, arguments: args };
}

/** The guideline that selected a tool. Of several, the first counts. */
const guidelineOf = ({ selection }: Turn, name: string, { declarations }: TurnTools): string | undefined =>
  declarations.needsSelection ? selection?.tools.find((tool) => tool.name === name)?.because : undefined;

/**
 * The user's own words in a dialog, and those of the system prompt and of results. They are tokenized whole, so only for a turn
 * with a call, and once for all calls of it.
 */
export function lazyMentions({ dialog, message, exchanges }: Turn, system: () => string): () => Mentions {
  let mentions: Mentions | undefined;
  let context: UserMentions | undefined;
  const collectContext = (): UserMentions => {
    const results = [...dialog.interactions.flatMap((each) => each.results ?? []), ...answeredCalls(exchanges)];
    return collectMentions([system(), ...results.map(({ content }) => content)]);
  };
  return () =>
    (mentions ??= {
      user: collectMentions([...dialog.interactions.map(({ user }) => user), message]),
      context: () => (context ??= collectContext()),
    });
}

/** The result that a call with equal name and arguments has: of this turn, or of an earlier one that kept it. */
function findAnswered(turn: Turn, name: string, args: JsonObject): JudgedCall | undefined {
  const key = callKey(name, args);
  const inTurn = turn.exchanges.flatMap(({ calls }) => calls).find((call) => answeredKey(call) === key);
  if (inTurn) return { kind: 'answered', event: 'call_repeated', answered: inTurn };
  const known = knownResults(turn.dialog).get(key);
  if (!known) return undefined;
  const { call_id: id, ok, content } = known;
  const answered = { id, name, arguments: args, ok, content, lifespan: 'TURN' } as const;
  return { kind: 'answered', event: 'already_known', answered };
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
// The chat template of Mistral accepts only ids of exactly nine of these characters.
const idLength = 9;

const createCallId = (): string =>
  Array.from({ length: idLength }, () => idCharacters[randomInt(idCharacters.length)]).join('');

const callKey = (name: string, args: JsonObject): string => `${JSON.stringify(name)} ${canonicalJson(args)}`;

// A loop compares each call with those before it, and each turn has all results of the dialog: keys are made once.

const answeredKey = memoized(({ name, arguments: args }: AnsweredCall) => callKey(name, args));

const resultKey = memoized(({ name, arguments_json }: DialogResult) => {
  const args = parseJsonObject(arguments_json);
  return args ? callKey(name, args) : '';
});

/** The results that stay in a dialog, by the key of their call; of equal calls the newest. */
const knownResults = memoized(
  ({ interactions }: Dialog): ReadonlyMap<string, DialogResult> =>
    new Map(interactions.flatMap(({ results = [] }) => results.map((result) => [resultKey(result), result]))),
);
