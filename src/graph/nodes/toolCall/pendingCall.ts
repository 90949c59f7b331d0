import type { PendingCall } from '../../../chat/dialog.ts';
import { compileArguments } from '../../../chat/formats/callGrammar.ts';
import {
  canonicalJson,
  isJsonObject,
  isList,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from '../../../chat/json/value.ts';
import type { DetectedCall, Tool, ToolCallFormat } from '../../../chat/tool.ts';
import { type Insight, toInsightParam, validateCall } from '../../../chat/tools/validate/callIssues.ts';
import { coerceArguments } from '../../../chat/tools/validate/coerceArguments.ts';
import {
  collectMentions,
  isAgreement,
  isGrounded,
  type SaidWords,
  saidWords,
  type UserMentions,
} from '../../../chat/tools/validate/grounding.ts';
import type { Turn } from '../../compile/turn.ts';
import { parseJsonObject } from '../../../chat/json/lenientParser.ts';
import { constrainCalls, type CallConstraint } from './callConstraint.ts';
import type { CallRules, JudgedCall } from './judgeReply.ts';

/** The pending call of a ToolCall node, and what a message adds to it. */
export class PendingArguments {
  readonly tool: Tool;
  readonly #values: JsonObject;
  /** What the user is asked for. */
  readonly #asked: readonly string[];
  /** All that is missing, first what the user is asked for. */
  readonly #missing: readonly string[];
  readonly #message: string;
  readonly #said: UserMentions;

  constructor(tool: Tool, { arguments_json, missing }: PendingCall, message: string) {
    const { properties = {}, required = [] } = tool.parameters;
    // The declaration may have changed since.
    const isDeclared = (name: string): boolean => Object.hasOwn(properties, name);
    this.tool = tool;
    this.#values = new Map([...readArguments(arguments_json)].filter(([name]) => isDeclared(name)));
    this.#asked = [...new Set(missing.map(({ name }) => rootOf(name)))].filter(isDeclared);
    const others = required.filter((name) => !this.#values.has(name));
    this.#missing = [...new Set([...this.#asked, ...others])];
    this.#message = message;
    this.#said = collectMentions([message]);
  }

  /** @param sendsIncomplete whether what it lacks, and the user was not asked for, does not matter. */
  isComplete(sendsIncomplete: boolean): boolean {
    return (sendsIncomplete ? this.#asked : this.#missing).length === 0;
  }

  /**
   * How the model is asked for what is missing alone: a call that has the pending values, and for each missing one a value
   * or null. undefined: nothing is missing, or the format or the tool has no grammar.
   */
  question(format: ToolCallFormat, maxTokensPerCall: number): CallConstraint | undefined {
    if (this.#missing.length === 0) return undefined;
    const { properties = {} } = this.tool.parameters;
    const asked: Record<string, Readonly<Record<string, unknown>>> = {};
    for (const [name, schema] of Object.entries(properties)) {
      const value = this.#values.get(name);
      if (this.#missing.includes(name)) asked[name] = { anyOf: [schema, { type: 'null' }] };
      else if (value !== undefined) asked[name] = { const: JSON.parse(stringifyJson(value)) as unknown };
    }
    const parameters = { ...this.tool.parameters, properties: asked, required: Object.keys(asked) };
    const tool: Tool = { ...this.tool, parameters };
    if (!format.grammar || !compileArguments(tool).ok) return undefined;
    const choice = { kind: 'tool', name: tool.name } as const;
    return constrainCalls([tool], { choice, strict: true, maxTokensPerCall }, format);
  }

  /** Whether an answer to the question says that the user refuses: it has no value of what is missing. */
  isRefusedBy({ arguments: args }: DetectedCall): boolean {
    return this.#asked.length > 0 && this.#asked.every((name) => (args.get(name) ?? null) === null);
  }

  /** The call with those values of an answer that the message may say; undefined: there are none. */
  answeredBy(answer: DetectedCall): DetectedCall | undefined {
    const given = new Map(
      [...answer.arguments].filter(([name, value]) => this.#missing.includes(name) && value !== null),
    );
    const issues = validateCall(this.tool.name, given, this.tool, { user: this.#said, context: () => this.#said });
    // Of several values in one, some may have been said before: they are judged with the call.
    const isUnsaid = (name: string, value: JsonValue): boolean =>
      typeof value !== 'object' && issues.some(({ code, param }) => code === 'ungrounded_value' && param === name);
    const values = new Map([...given].filter(([name, value]) => !isUnsaid(name, value)));
    const call = this.#complete({ ...answer, arguments: values });
    return [...values.keys()].some((name) => call.arguments.has(name)) ? call : undefined;
  }

  /** Completes of several calls the one with most of the pending values, if one is of the tool. */
  completeBest(calls: readonly DetectedCall[]): readonly DetectedCall[] {
    const agreements = calls.map((call) => this.#agreement(call));
    const best = agreements.indexOf(Math.max(0, ...agreements));
    return calls.map((call, index) => (index === best ? this.#complete(call) : call));
  }

  /** How many values of a call are those of the pending one; -1: it is a call of another tool. */
  #agreement({ name: tool, arguments: args }: DetectedCall): number {
    if (tool !== this.tool.name) return -1;
    const written = coerceArguments(args, this.tool);
    const isEqual = ([name, value]: readonly [string, JsonValue]): boolean => {
      const other = written.get(name);
      return other !== undefined && canonicalJson(other) === canonicalJson(value);
    };
    return [...this.#values].filter(isEqual).length;
  }

  /**
   * A call of the tool with the pending values. What the message says takes the place of a pending value. No word of the
   * message fills two parameters, unless it is there twice.
   */
  #complete(call: DetectedCall): DetectedCall {
    const { properties = {}, required = [] } = this.tool.parameters;
    const written = coerceArguments(call.arguments, this.tool);
    const words = saidWords(this.#message);
    const values = new Map(this.#values);
    const declared = Object.keys(properties);
    for (const name of new Set([...this.#missing, ...required, ...declared])) {
      const value = written.get(name);
      if (value === undefined || (values.has(name) && !this.#isNew(name, value, words))) continue;
      if (words.take(value)) values.set(name, value);
    }
    const undeclared = [...call.arguments].filter(([name]) => !declared.includes(name));
    const inOrder = declared.flatMap((name) => (values.has(name) ? [[name, values.get(name) ?? null] as const] : []));
    return { ...call, arguments: new Map([...undeclared, ...inOrder]) };
  }

  /** Whether a value may replace a pending one: the message has it, or a part of it, or the user need not give it. */
  #isNew(name: string, value: JsonValue, words: SaidWords): boolean {
    const source = this.tool.notes.get(name)?.source;
    const isChecked = source === 'customer' || (source === undefined && this.tool.consequential);
    if (isJsonObject(value)) return [...value.values()].some((member) => this.#isNew(name, member, words));
    if (isList(value)) return value.some((item) => this.#isNew(name, item, words));
    return isGrounded(value, this.#said) ? !words.isUnit(value) : !isChecked;
  }
}

/** The pending calls of a node as they were, if the message agrees to them and each may be sent still; else none. */
export function confirmedCalls(
  { pending, message }: Turn,
  node: string,
  { turnTools, sendsIncomplete }: Pick<CallRules, 'turnTools' | 'sendsIncomplete'>,
): readonly DetectedCall[] {
  if (!isAgreement(message)) return [];
  const { tools, declarations } = turnTools;
  const calls = pending.filter((each) => each.node === node);
  const maySend = (call: PendingCall): boolean => {
    const tool = tools.get(call.tool_name);
    if (tool) return new PendingArguments(tool, call, message).isComplete(sendsIncomplete);
    // One that is declared is not offered in this turn; one that is declared no more cannot get what it lacks.
    return call.missing.length === 0 && !declarations.tools.has(call.tool_name);
  };
  const toDetected = ({ tool_name: name, arguments_json }: PendingCall): DetectedCall => {
    return { name, arguments: readArguments(arguments_json), raw: '', repaired: false };
  };
  return calls.every(maySend) ? calls.map(toDetected) : [];
}

const readArguments = (json: string): JsonObject => parseJsonObject(json) ?? new Map<string, JsonValue>();

interface KeepOptions extends Pick<CallRules, 'turnTools' | 'mentions'> {
  readonly node: string;
  /** How many turns without progress a call is kept. */
  readonly turns: number;
  /** Whether it is the first reply of the node in the turn. */
  readonly isFirst: boolean;
}

/**
 * Keeps the first call of a reply that lacks something, else all that are unsure. The pending calls before them are over if
 * one was sent, or others were made.
 */
export function keepPending(turn: Turn, judged: readonly JudgedCall[], options: KeepOptions): void {
  const { node, turnTools, mentions, turns, isFirst } = options;
  const old = turn.pending.filter((each) => each.node === node);
  const isOld = (call: JudgedCall): boolean => old.some(({ tool_name }) => tool_name === toolOf(call));
  // What could not be read, and names that are no tool, say nothing of what the user wants, unless the user is asked about them.
  const calls = judged.filter((call) =>
    call.kind === 'incomplete'
      ? call.insight.unread === undefined
      : call.kind === 'unsure' || isOld(call) || turnTools.tools.has(toolOf(call)),
  );
  const sent = calls.filter((call) => call.kind === 'new' || call.kind === 'answered');
  const unsent = old.filter(({ tool_name }) => {
    const index = sent.findIndex((call) => toolOf(call) === tool_name);
    const [call] = index < 0 ? [] : sent.splice(index, 1);
    if (!call) return true;
    const args = call.kind === 'new' ? call.arguments : call.answered.arguments;
    turn.emitEvent('call_completed', { tool_name, arguments: args }, { always: true });
    return false;
  });
  const isSent = unsent.length < old.length;
  if (isSent) turn.setPending(node, unsent);
  const incomplete = calls.find(({ kind }) => kind === 'incomplete');
  const held = incomplete ? [incomplete] : calls.filter(({ kind }) => kind === 'unsure');
  const isOther = calls.length > 0 && !calls.some(isOld);
  // In a later round, a call that follows from results does not say that the user wants no other one.
  if (isSent || (isOther && (isFirst || held.length > 0))) dropPending(turn, node, 'other_call');
  const kept = held.flatMap((call) => {
    const pending =
      'insight' in call ? toPending(call.insight, turnTools.tools.get(toolOf(call)), mentions().user) : [];
    return pending.map((each) => ({ node, ...each, turns_left: turns }));
  });
  // If the user is asked again whether calls are meant, a yes still counts.
  if (kept.length > 0 && (isSent || !incomplete || describeCalls(old) !== describeCalls(kept))) {
    turn.setPending(node, kept);
    for (const { tool_name, arguments_json, missing } of kept)
      turn.emitEvent(
        'call_pending',
        { tool_name, arguments: parseJsonObject(arguments_json), missing },
        { always: true },
      );
  } else if (isFirst && !isSent && (old[0]?.turns_left ?? Infinity) <= 1) dropPending(turn, node, 'expired');
}

function toolOf(judged: JudgedCall): string {
  if ('insight' in judged) return judged.insight.tool;
  return judged.kind === 'new' ? judged.call.name : judged.answered.name;
}

const describeCalls = (calls: readonly PendingCall[]): string =>
  JSON.stringify(
    calls.map(({ tool_name, arguments_json, missing }) => [tool_name, arguments_json, missing.map(({ name }) => name)]),
  );

/** Ends the pending calls of a node, if it has any. */
export function dropPending(turn: Turn, node: string, reason: 'declined' | 'other_call' | 'expired'): void {
  const calls = turn.pending.filter((each) => each.node === node);
  for (const call of calls) turn.emitEvent('call_dropped', { tool_name: call.tool_name, reason }, { always: true });
  if (calls.length > 0) turn.setPending(node, [], reason === 'expired');
}

/** What stays of a call that was not sent; none: there is nothing to ask for. */
function toPending(
  { tool: tool_name, arguments: written, missing, invalid, confidence }: Insight,
  tool: Tool | undefined,
  user: UserMentions,
): readonly Omit<PendingCall, 'node' | 'turns_left'>[] {
  if (confidence !== undefined)
    return [{ tool_name, arguments_json: stringifyJson(coerceArguments(written, tool)), missing: [] }];
  if (!tool) return [];
  const { properties = {}, required = [] } = tool.parameters;
  const lacking = [...missing, ...invalid];
  const faulty = new Set(lacking.map(({ name }) => rootOf(name)));
  const said = ([name, value]: readonly [string, JsonValue]): boolean =>
    !tool.consequential || tool.notes.get(name)?.source === 'context' || isGrounded(value, user);
  const valid = [...coerceArguments(written, tool)].filter(([name]) => !faulty.has(name));
  const unsaid = valid.filter((each) => !said(each) && required.includes(each[0]));
  const asked = [...lacking, ...unsaid.map(([name]) => toInsightParam(tool, name, `the user never said ${name}`))]
    .filter(({ name }) => Object.hasOwn(properties, rootOf(name)))
    .toSorted((one, other) => one.precedence - other.precedence);
  if (asked.length === 0) return [];
  const kept = stringifyJson(new Map(valid.filter(said)));
  const shown = asked
    .filter(({ hidden }) => !hidden)
    .map(({ name, message, significance, examples }) => ({ name, message, significance, examples }));
  return [{ tool_name, arguments_json: kept, missing: shown }];
}

const rootOf = (path: string): string => path.split(/[.[]/, 1)[0] ?? path;
