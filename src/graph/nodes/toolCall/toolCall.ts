import { type CallableTool, defineNode, type Node, type NodeContext, type NodeEffects } from '../../compile/node.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { declaredToolName, type ToolDeclaration } from '../../../chat/tools/declaration/toolSchema.ts';
import { readSettings, resolveFormat, type ToolCallParams, toolCallParams } from './toolCallParams.ts';
import { liveParams } from '../../compile/liveParams.ts';
import type { Turn } from '../../compile/turn.ts';
import { chatProjection, placeTemplate, type Projection } from '../../projection/projection.ts';
import type { Formats } from '../../../chat/formats/index.ts';
import { nativeFormatName } from '../../../chat/dialect/nativeFormat.ts';
import type { ToolDialect } from '../../../chat/dialect/layout.ts';
import { usedKeywords } from '../../../chat/tools/promptedKeywords.ts';
import type { Tool, ToolCallFormat } from '../../../chat/tool.ts';
import type { StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';
import { isRefusal } from '../../../chat/tools/validate/grounding.ts';
import { completeAnswer } from '../answerWithoutCalls.ts';
import { InferenceRunner, type PromptRequest, resolveModel } from '../inference.ts';
import { type Attempt, type CallRules, judgeCall, type JudgedCall, judgeReply, lazyMentions } from './judgeReply.ts';
import { confirmedCalls, dropPending, keepPending, PendingArguments } from './pendingCall.ts';
import { warnOfConfidence, withConfidence } from './confidence.ts';
import { isAllowed, isMatch } from './callConstraint.ts';
import { proseLimit, readReply, type ReplyText, replyText } from './reply.ts';
import { collectResults, recordCalls } from './recordCalls.ts';
import { declarationsKey, readToolDeclarations, type ToolDeclarations } from './toolDeclarations.ts';
import { ToolCompiler, type TurnTools } from './turnTools.ts';

// Calls of a turn that repeat an answered one, after which the loop ends.
const maxRepeats = 2;

interface LoopState {
  rounds: number;
  repeats: number;
  /** Whether a call of this node has a result. */
  hasResults: boolean;
  /** Whether a reply of this node has sent a text. */
  hasText: boolean;
}

/** The ToolCall node: detects tool calls in a model's text and notifies the client of them. It never executes one. */
export const toolCallWith = (formats: Formats) =>
  defineNode({
    type: 'ToolCall',
    summary: 'Offers tools to a model, detects calls in its text and notifies the client of each.',
    params: toolCallParams(formats),
    exits: ['tool_called', 'no_tool_called', 'no_results', 'unsure'],
    needs: {
      'exits.unsure': 'min_confidence',
      'exits.no_results': 'await_results',
      results_timeout_ms: 'await_results',
      summary_tokens: 'summary',
    },
    effects: toolCallEffects,
    toolNames: ({ tools }) => tools.map(declaredToolName),
    create: async (params, context) => new ToolCallNode(await prepare(params, context, formats)),
  });

async function prepare(params: ToolCallParams, context: NodeContext, formats: Formats) {
  const { nodeName } = context;
  const declarations = readToolDeclarations(params, context);
  const settings = await liveParams(params, (current) => readSettings(current, context));
  const lease = await resolveModel(context, params.model_name);
  const { format, reason, warning } = resolveFormat(params.tool_call_format, lease, formats);
  if (warning !== '') context.warn(`${nodeName}.params.tool_call_format ${warning}`);
  warnOfOmissions(declarations, format, lease.model.toolDialect, context);
  warnOfConfidence(params, lease, context);
  const compiler = await ToolCompiler.create(declarations, { format, model: lease.model, nodeName });
  return { context, settings, lease, format, reason, compiler };
}

type ToolCallParts = Awaited<ReturnType<typeof prepare>>;

function warnOfOmissions(
  { tools }: ToolDeclarations,
  { name: formatName }: ToolCallFormat,
  { format, omits = [] }: ToolDialect,
  { nodeName, warn }: NodeContext,
): void {
  if (formatName !== format && formatName !== nativeFormatName) return;
  for (const { name, parameters } of tools.values()) {
    const used = usedKeywords(parameters, omits);
    if (used.length === 0) continue;
    const what = `${used.join(', ')} of the tool ${name}`;
    warn(`${nodeName}: the model's chat template leaves ${what} out of prompts; put it in a description`);
  }
}

type Exit = 'tool_called' | 'no_tool_called' | 'no_results' | 'unsure';

class ToolCallNode implements Node<Exit, ToolCallParams> {
  readonly #parts: ToolCallParts;
  #compiler: ToolCompiler;
  readonly #inference: InferenceRunner;
  readonly #plainProjection: Projection;
  readonly #loops = new WeakMap<Turn, LoopState>();

  constructor(parts: ToolCallParts) {
    this.#parts = parts;
    this.#compiler = parts.compiler;
    this.#plainProjection = chatProjection(parts.lease.model);
    this.#inference = new InferenceRunner(parts.lease, parts.context, { temperature: 0 }, parts.settings.current);
  }

  async run(turn: Turn): Promise<Exit> {
    const { tool_choice, generate_on_no_tool, max_rounds } = this.#settings;
    if (tool_choice === 'none') {
      if (generate_on_no_tool) await this.#sendAnswer(turn, undefined, replyText(turn, false, undefined));
      return 'no_tool_called';
    }
    const loop = this.#loops.get(turn) ?? initialLoop(turn, this.#nodeName);
    this.#loops.set(turn, loop);
    if (loop.rounds === max_rounds) {
      turn.warn(`${this.#nodeName} was visited more than ${max_rounds} times; raise max_rounds, or end the loop`);
      return 'no_tool_called';
    }
    const tools = await this.#compiler.toolsFor(turn, loop.hasResults);
    if (!tools) return 'no_tool_called';
    loop.rounds++;
    return this.#callTools(turn, tools, loop);
  }

  async warmUp(turn: Turn): Promise<void> {
    await this.#inference.prefill(turn, this.#createRequest(turn, await this.#compiler.toolsFor(turn, false)));
  }

  async change(changed: ToolCallParams): Promise<void> {
    const { context, settings, lease, format } = this.#parts;
    const options = { format, model: lease.model, nodeName: this.#nodeName };
    const isSame = declarationsKey(this.#settings) === declarationsKey(changed);
    const next = isSame ? this.#compiler : await ToolCompiler.create(readToolDeclarations(changed, context), options);
    await settings.change(changed);
    warnOfConfidence(changed, lease, context);
    this.#compiler = next;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inference[Symbol.asyncDispose]();
  }

  get #nodeName(): string {
    return this.#parts.context.nodeName;
  }

  get #settings(): ReturnType<typeof readSettings> {
    return this.#parts.settings.current;
  }

  get #maxRetries(): number {
    return this.#settings.retries ?? this.#parts.format.retries ?? 0;
  }

  /** One round: asks for calls, sends them, and waits for their results; or answers. */
  async #callTools(turn: Turn, tools: TurnTools, loop: LoopState): Promise<Exit> {
    const { generate_on_no_tool, stream, spoken, keep_pending, pending_turns, ...delivery } = this.#settings;
    const { format } = this.#parts;
    // What is sent cannot be taken back for another attempt.
    const isStreamed = stream && !tools.constraint.answer && !format.answersAtEnd && this.#maxRetries === 0;
    const output = replyText(turn, loop.hasText, isStreamed ? this.#markupOf(tools) : undefined);
    const isFirst = loop.rounds === 1;
    // Of several, the first; its tool may not be offered in this turn.
    const asked = keep_pending && isFirst ? turn.pending.find(({ node }) => node === this.#nodeName) : undefined;
    const tool = asked && tools.tools.get(asked.tool_name);
    const pending = tool && new PendingArguments(tool, asked, turn.message);
    const isRefused = asked !== undefined && isRefusal(turn.message);
    if (isRefused) dropPending(turn, this.#nodeName, 'declined');
    const attempt =
      (asked ? await this.#confirm(turn, tools) : undefined) ??
      (await this.#askWithRetries(turn, tools, output, isRefused ? undefined : pending));
    const { answer } = attempt;
    // About a call that the user has just refused nothing is asked.
    const calls = isRefused ? attempt.calls.filter((call) => !('insight' in call)) : attempt.calls;
    if (isStreamed) output.end(answer);
    loop.hasText ||= isStreamed && answer !== '';
    const slots = recordCalls(turn, calls, delivery);
    if (keep_pending)
      keepPending(turn, calls, { node: this.#nodeName, turns: pending_turns, isFirst, ...this.#rulesOf(turn, tools) });
    const repeats = calls.filter((call) => call.kind === 'answered' && call.event === 'call_repeated').length;
    loop.repeats += repeats;
    const isStuck = repeats === slots.length && loop.repeats >= maxRepeats;
    if (slots.length === 0 && calls.some(({ kind }) => kind === 'unsure')) return 'unsure';
    if (isStuck || slots.length === 0) {
      if (generate_on_no_tool && !isStreamed) await this.#finish(turn, tools, output, answer);
      return 'no_tool_called';
    }
    turn.setSpoken(() => spoken.render(turn));
    const earlier = turn.exchanges.length;
    const exit = await collectResults(turn, slots, { answer, format, nodeName: this.#nodeName, ...delivery });
    loop.hasResults ||= turn.exchanges.length > earlier;
    return exit;
  }

  /** The pending calls that lack nothing, if the message agrees to them and they are allowed still: the model is not asked. */
  async #confirm(turn: Turn, tools: TurnTools): Promise<Attempt | undefined> {
    const rules = this.#rulesOf(turn, tools);
    const confirmed = confirmedCalls(turn, this.#nodeName, rules);
    for (const call of confirmed) if (!(await isAllowed(call, tools.constraint))) return undefined;
    if (confirmed.length === 0) return undefined;
    const calls = confirmed.map((call) => judgeCall(turn, call, rules));
    return { calls, answer: '', warnings: [], problem: undefined };
  }

  async #askWithRetries(turn: Turn, tools: TurnTools, output: ReplyText, pending?: PendingArguments): Promise<Attempt> {
    let attempt = await this.#ask(turn, tools, output, pending);
    const warnings = [...attempt.warnings];
    for (let retry = 1; attempt.problem !== undefined && retry <= this.#maxRetries; retry++) {
      turn.emitEvent('tool_retry', { reason: attempt.problem, attempt: retry }, { always: true });
      const correction = `Your last reply was no usable call: ${attempt.problem}. Write the whole call again.`;
      const next = await this.#ask(turn, tools, output, pending, correction);
      // Without another call, what the last one lacks is still to be asked for. A tool that does not exist is given up.
      const incomplete = attempt.calls.filter(({ kind }) => kind === 'incomplete');
      attempt = next.calls.length > 0 ? next : { ...next, calls: incomplete };
      warnings.push(...next.warnings);
    }
    const isMended = attempt.problem === undefined && attempt.calls.length > 0;
    for (const warning of isMended ? attempt.warnings : new Set(warnings)) turn.warn(warning);
    if (!pending || attempt.calls.length > 0) return attempt;
    return { ...attempt, calls: await this.#askForMissing(turn, tools, pending) };
  }

  /** Asks for what a pending call lacks, and for nothing else. @returns the call, if the message says more of it. */
  async #askForMissing(turn: Turn, tools: TurnTools, pending: PendingArguments): Promise<readonly JudgedCall[]> {
    const { format, lease } = this.#parts;
    const { replyMarks: marks, limits } = lease.model;
    const { tool } = pending;
    const constraint =
      limits?.grammars === undefined ? pending.question(format, this.#settings.max_tokens_per_call) : undefined;
    if (!constraint?.grammar) return [];
    const notes = { tool_call_format: format.name, because: `it asks for what the pending call of ${tool.name} lacks` };
    const options = { controlTokens: true, choices: true, notes, grammar: constraint.grammar };
    const completion = await this.#inference.complete(turn, this.#createRequest(turn, tools), options);
    const { calls } = await readReply(completion.text, format, { tools: [tool], marks }, constraint);
    const answer = withConfidence(calls, completion).find(({ name }) => name === tool.name);
    if (!answer) return [];
    if (pending.isRefusedBy(answer)) dropPending(turn, this.#nodeName, 'declined');
    const call = pending.answeredBy(answer);
    return call ? [judgeCall(turn, call, this.#rulesOf(turn, tools))] : [];
  }

  #rulesOf(turn: Turn, turnTools: TurnTools): CallRules {
    const { on_incomplete, system, min_confidence: minConfidence } = this.#settings;
    const mentions = lazyMentions(turn, () => system.render(turn));
    return { turnTools, mentions, sendsIncomplete: on_incomplete === 'notify', minConfidence };
  }

  async #ask(
    turn: Turn,
    tools: TurnTools,
    output: ReplyText,
    pending: PendingArguments | undefined,
    correction = '',
  ): Promise<Attempt> {
    const { format, reason, lease } = this.#parts;
    const { thought } = this.#settings;
    const { prompted, constraint } = tools;
    const { grammar } = constraint;
    const receiving =
      constraint.answer && !format.answersAtEnd
        ? proseLimit(this.#markupOf(tools))
        : { onText: (piece: string): void => output.push(piece) };
    const notes = { tool_call_format: format.name, because: reason };
    const options = { controlTokens: true, choices: true, notes, ...(grammar && { grammar }), ...receiving };
    const request = this.#createRequest(turn, tools, correction);
    const completion = await this.#inference.complete(turn, request, options);
    const { text, finishReason } = completion;
    const isCutOff = finishReason === 'length';
    const reading = { tools: prompted, marks: lease.model.replyMarks, thought, isCutOff };
    const reply = await readReply(text, format, reading, constraint);
    const judged = { ...reply, calls: withConfidence(reply.calls, completion) };
    return judgeReply(turn, judged, {
      ...this.#rulesOf(turn, tools),
      nodeName: this.#nodeName,
      complete: (calls) => pending?.completeBest(calls) ?? calls,
      isCutOff,
      canRetry: this.#maxRetries > 0,
      retriesUnknown: format.retriesUnknown ?? false,
    });
  }

  /** The answer of a reply without a call: JSON is asked for, unless it is written already. */
  async #finish(turn: Turn, tools: TurnTools, output: ReplyText, answer: string): Promise<void> {
    const { answer: rule } = tools.constraint;
    if (!rule || (await isMatch(answer, rule))) output.end(answer);
    else await this.#sendAnswer(turn, tools, output);
  }

  /** Sends an answer that is asked for without reading calls. */
  async #sendAnswer(turn: Turn, tools: TurnTools | undefined, output: ReplyText): Promise<void> {
    const { answer: rule } = this.#compiler.declarations;
    const onText = this.#settings.stream ? output.pass : undefined;
    const text = await completeAnswer(turn, this.#inference, this.#createRequest(turn, tools), rule, onText);
    if (!onText) output.end(text);
  }

  #createRequest(turn: Turn, tools: TurnTools | undefined, correction = ''): PromptRequest {
    const { system, sampling, thinking, max_thinking_tokens } = this.#settings;
    const { format, lease } = this.#parts;
    const stop = [...(sampling.stop ?? lease.defaultSampling.stop), ...(format.stop ?? [])];
    return {
      projection: tools?.projection ?? this.#plainProjection,
      system: system.render(turn),
      current: placeTemplate(turn.message),
      ...(correction !== '' && { last: [{ role: 'system', text: correction }] }),
      sampling: tools ? { ...sampling, stop } : sampling,
      thinking,
      maxThinkingTokens: max_thinking_tokens,
    };
  }

  #markupOf({ tools }: TurnTools): StreamableTextOptions {
    return { markup: this.#parts.format.markup, toolNames: new Set(tools.keys()) };
  }
}

/** The rounds of earlier requests count, so that a loop over several of them ends, too. */
function initialLoop({ continuesAfter, exchanges }: Turn, nodeName: string): LoopState {
  const rounds = continuesAfter === nodeName ? exchanges.length : 0;
  return { rounds, repeats: 0, hasResults: rounds > 0, hasText: false };
}

/** The exits after a detected call. */
const calledExits = ['tool_called', 'no_results', 'unsure'] as const;

/** What a ToolCall node may do in a turn. */
function toolCallEffects(params: ToolCallParams): NodeEffects {
  const { tools, tool_choice, generate_on_no_tool, notify_client, await_results, stream, min_confidence } = params;
  const isOffered = tool_choice !== 'none';
  const needsSelection = params.tools_from === 'selection';
  const named = tools.filter((tool) => declaredToolName(tool) === tool_choice);
  // A tool whose values come with the message may be left out of a turn.
  const isLasting = (tool: ToolDeclaration | string): boolean => toolIn(tool)?.enumSources === undefined;
  const isAsked = !needsSelection && (named.length > 0 ? named : tools).some(isLasting);
  // With another choice the model has to call a tool. Where it is offered none, it is not asked.
  const alwaysAnswers = isOffered ? isAsked && (generate_on_no_tool || tool_choice !== 'auto') : generate_on_no_tool;
  const canTake = { tool_called: true, no_results: await_results, unsure: min_confidence > 0 };
  return {
    // Without tools it only answers, or does nothing.
    infers: isOffered || generate_on_no_tool,
    sends: generate_on_no_tool ? ['no_tool_called', ...(stream ? ['tool_called', 'no_results', 'unsure'] : [])] : [],
    showsCalls: false,
    held: 'kept',
    tools: isOffered ? callableTools(params) : [],
    // After max_rounds the exit is no_tool_called.
    limitedExits: calledExits,
    unusedExits: isOffered ? calledExits.filter((exit) => !canTake[exit]) : calledExits,
    silentExits: ['unsure', ...(notify_client ? [] : ['tool_called']), ...(alwaysAnswers ? [] : ['no_tool_called'])],
    needsSelection: needsSelection && tools.map(declaredToolName),
  };
}

/** The tool of a declaration; undefined: it is only named, so that it is not known, or it is not valid. */
function toolIn(declaration: ToolDeclaration | string): Tool | undefined {
  const reading = typeof declaration === 'string' ? undefined : readTool(declaration);
  return reading?.ok ? reading.value : undefined;
}

function callableTools(params: ToolCallParams): readonly CallableTool[] {
  const { tools, tool_choice, tools_from, strict, notify_client, await_results } = params;
  const delivery = { isNotified: notify_client, awaitsResult: await_results };
  const isNamed = tool_choice !== 'auto' && tool_choice !== 'required';
  const declared = tools.map((tool) => {
    const name = declaredToolName(tool);
    // Once there are results, the choice counts as `auto`.
    const onlyAfterResult = isNamed && name !== tool_choice;
    const needsSelection = tools_from === 'selection';
    // A tool that is only named may be.
    const isConsequential = typeof tool === 'string' || toolIn(tool)?.consequential === true;
    return { name, ...delivery, isConsequential, needsSelection, onlyAfterResult };
  });
  if (strict) return declared;
  // Without a grammar a model may write any name; with a choice calls have to match one.
  const onlyAfterResult = tool_choice !== 'auto';
  const other = { name: undefined, ...delivery, isConsequential: false, needsSelection: false, onlyAfterResult };
  return [...declared, other];
}
