import type { Turn } from '../../compile/turn.ts';
import type { ParsedReply } from '../../../chat/reply/parseReply.ts';
import type { DetectedCall } from '../../../chat/tool.ts';
import { isAllowed, type CallConstraint } from './callConstraint.ts';
import { judgeCall, type CallRules, type JudgedCall } from './judgeCall.ts';

/** The reply of a model to one question for calls. */
export interface Attempt {
  readonly calls: readonly JudgedCall[];
  /** The text in addition to the calls, without markup of calls. */
  readonly answer: string;
  /** What the model has to be asked again for: why no call of the reply can be used; undefined: there is nothing to mend. */
  readonly problem: string | undefined;
}

interface AttemptOptions {
  readonly nodeName: string;
  readonly constraint: CallConstraint;
  /** The names of tools that the node declares and does not offer in this turn. */
  readonly withheld: ReadonlySet<string>;
  readonly rules: CallRules;
  /** Whether max_tokens ended the reply. */
  readonly isCutOff: boolean;
  /** Whether the node asks again after a mistake. */
  readonly canRetry: boolean;
  /** Whether a call of an unknown tool is such a mistake. */
  readonly retriesUnknown: boolean;
}

/** Judges the calls of a reply. What could not be read is sent to the client (NodeEvent call_unread) with a warning. */
export async function judgeReply(turn: Turn, reply: ParsedReply, options: AttemptOptions): Promise<Attempt> {
  const { nodeName, constraint, withheld, rules, isCutOff, canRetry, retriesUnknown } = options;
  const allowed: DetectedCall[] = [];
  const unread = [...reply.unread];
  for (const call of reply.calls)
    if (!withheld.has(call.name) && (await isAllowed(call, constraint))) allowed.push(call);
  for (const { reason } of unread) {
    const settings = [...(constraint.grammar ? [] : ['strict']), ...(canRetry ? [] : ['retries'])];
    const others = settings.length === 0 ? 'choose another model or format' : `set ${settings.join(' or ')}`;
    const fix = isCutOff && reply.truncated ? 'raise sampling.max_tokens' : others;
    turn.warn(`${nodeName} wrote a call that could not be used: ${reason}; ${fix}`);
  }
  const disallowed = reply.calls.filter((call) => !allowed.includes(call));
  for (const { name, raw } of disallowed) {
    const isWithheld = withheld.has(name);
    const fault = isWithheld ? `of ${name}, which it does not offer in this turn` : 'that its tools do not allow';
    turn.warn(`${nodeName} wrote a call ${fault}`);
    const reason = isWithheld ? 'its tool is not offered in this turn' : 'the declared tools do not allow it';
    unread.push({ text: raw, reason });
  }
  for (const { text, reason } of unread) turn.emitEvent('call_unread', { text, reason }, { always: true });
  const calls = allowed.map((call) => judgeCall(turn, call, rules));
  return { calls, answer: reply.answer, problem: findProblem(calls, unread, retriesUnknown ? rules.tools : undefined) };
}

/** @param tools those that a call has to name; undefined: it may name any. */
function findProblem(
  calls: readonly JudgedCall[],
  unread: ParsedReply['unread'],
  tools: CallRules['tools'] | undefined,
): string | undefined {
  const unknown = tools ? calls.flatMap((call) => unknownName(call) ?? []) : [];
  const incompletes = calls.filter(({ kind }) => kind === 'incomplete');
  if (calls.length > unknown.length + incompletes.length) return undefined;
  const [bad] = unread;
  if (bad) return `the call could not be read: ${bad.reason}`;
  if (tools && unknown.length > 0) return `there is no tool "${unknown[0]}", but ${[...tools.keys()].join(', ')}`;
  const incomplete = calls.find((call) => call.kind === 'incomplete');
  if (!incomplete) return undefined;
  const { tool, missing, invalid } = incomplete.insight;
  const params = [...missing, ...invalid].map(({ message }) => message);
  return `the call of ${tool} is incomplete: ${params.join('; ')}`;
}

const unknownName = (judged: JudgedCall): string | undefined =>
  judged.kind === 'new' && !judged.call.known ? judged.call.name : undefined;
