import { type CallableTool, defineNode, type Node, type NodeContext, type NodeEffects } from '../../compile/node.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { declaredToolName, type ToolDeclaration } from '../../../chat/tools/declaration/toolSchema.ts';
import { readSettings, resolveFormat, type ToolCallParams, toolCallParams } from './toolCallParams.ts';
import { liveParams, type LiveParams } from '../../compile/liveParams.ts';
import type { Turn } from '../../compile/turn.ts';
import { chatProjection, placeTemplate, type Projection } from '../../projection/projection.ts';
import type { Formats } from '../../../chat/formats/index.ts';
import { markupOf, nativeFormatName } from '../../../chat/dialect/nativeFormat.ts';
import type { ToolDialect } from '../../../chat/dialect/toolDialect.ts';
import { usedKeywords } from '../../../chat/tools/promptedKeywords.ts';
import type { ToolCallFormat } from '../../../chat/tool.ts';
import type { StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';
import type { ModelLease } from '../../../inference/models/pool/lease.ts';
import { completeAnswer } from '../answerWithoutCalls.ts';
import { InferenceRunner, type PromptRequest, resolveModel } from '../inference.ts';
import { type Attempt, judgeReply, lazyMentions } from './judgeReply.ts';
import { isMatch } from './callConstraint.ts';
import { proseLimit, readReply, ReplyText } from './reply.ts';
import { collectResults, recordCalls } from './recordCalls.ts';
import { hasSameDeclarations, readToolDeclarations, type ToolDeclarations } from './toolDeclarations.ts';
import { ToolCompiler, type TurnTools } from './turnTools.ts';

// Calls of a turn that repeat an answered one, after which the loop ends.
const maxRepeats = 2;

/** How often a node was visited in one turn, and how often its calls had a result already. */
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
    exits: ['tool_called', 'no_tool_called', 'no_results'],
    effects: toolCallEffects,
    toolNames: ({ tools }) => tools.map(declaredToolName),
    async create(params, context) {
      const { nodeName } = context;
      const declarations = readToolDeclarations(params, context);
      const settings = await liveParams(params, (current) => readSettings(current, context));
      const lease = await resolveModel(context, params.model_name);
      const { format, reason, warning } = resolveFormat(params.tool_call_format, lease, formats);
      if (warning !== '') context.warn(`${nodeName}.params.tool_call_format ${warning}`);
      warnOfOmissions(declarations, format, lease.model.toolDialect, context);
      const compiler = await ToolCompiler.create(declarations, { format, model: lease.model, nodeName });
      return new ToolCallNode({ context, settings, lease, format, reason, compiler });
    },
  });

/** Warns of what the chat template leaves out of the tools that it writes. */
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
    const what = used.join(', ');
    warn(
      `${nodeName}: the model's chat template leaves ${what} of the tool ${name} out of prompts; put it in a description`,
    );
  }
}

/** What a ToolCall node is created of. */
interface ToolCallParts {
  readonly context: NodeContext;
  readonly settings: LiveParams<ToolCallParams, ReturnType<typeof readSettings>>;
  readonly lease: ModelLease;
  readonly format: ToolCallFormat;
  /** Why the format was chosen. */
  readonly reason: string;
  readonly compiler: ToolCompiler;
}

type Exit = 'tool_called' | 'no_tool_called' | 'no_results';

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
    this.#inference = new InferenceRunner(parts.lease, parts.context, { temperature: 0 });
  }

  async run(turn: Turn): Promise<Exit> {
    const { tool_choice, generate_on_no_tool, max_rounds } = this.#settings;
    if (tool_choice === 'none') {
      if (generate_on_no_tool) await this.#answerWithoutTools(turn);
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
    const next = hasSameDeclarations(this.#settings, changed)
      ? this.#compiler
      : await ToolCompiler.create(readToolDeclarations(changed, context), {
          format,
          model: lease.model,
          nodeName: this.#nodeName,
        });
    await settings.change(changed);
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
    const { generate_on_no_tool, stream, spoken, ...delivery } = this.#settings;
    const { format } = this.#parts;
    // What is sent cannot be taken back for another attempt.
    const isStreamed = stream && !tools.constraint.answer && !format.answersAtEnd && this.#maxRetries === 0;
    const output = new ReplyText(turn, loop.hasText, isStreamed ? this.#markupOf(tools) : undefined);
    const { calls, answer } = await this.#askWithRetries(turn, tools, output);
    if (isStreamed) output.end(answer);
    loop.hasText ||= isStreamed && answer !== '';
    const record = recordCalls(turn, calls, delivery);
    loop.repeats += record.repeats;
    const isStuck = record.sent.length === 0 && record.known === 0 && loop.repeats >= maxRepeats;
    if (isStuck || record.slots.length === 0) {
      if (generate_on_no_tool && !isStreamed) await this.#finish(turn, tools, output, answer);
      return 'no_tool_called';
    }
    turn.setSpoken(() => spoken.render(turn));
    const earlier = turn.exchanges.length;
    const exit = await collectResults(turn, record, { answer, format, nodeName: this.#nodeName, ...delivery });
    loop.hasResults ||= turn.exchanges.length > earlier;
    return exit;
  }

  async #askWithRetries(turn: Turn, tools: TurnTools, output: ReplyText): Promise<Attempt> {
    let attempt = await this.#ask(turn, tools, output);
    const warnings = [...attempt.warnings];
    for (let retry = 1; attempt.problem !== undefined && retry <= this.#maxRetries; retry++) {
      turn.emitEvent('tool_retry', { reason: attempt.problem, attempt: retry }, { always: true });
      const correction = `Your last reply was no usable call: ${attempt.problem}. Write the whole call again.`;
      const next = await this.#ask(turn, tools, output, correction);
      // Without another call, what the last one lacks is still to be asked for. A tool that does not exist is given up.
      const incomplete = attempt.calls.filter(({ kind }) => kind === 'incomplete');
      attempt = next.calls.length > 0 ? next : { ...next, calls: incomplete };
      warnings.push(...next.warnings);
    }
    const isMended = attempt.problem === undefined && attempt.calls.length > 0;
    for (const warning of isMended ? attempt.warnings : new Set(warnings)) turn.warn(warning);
    return attempt;
  }

  async #ask(turn: Turn, tools: TurnTools, output: ReplyText, correction = ''): Promise<Attempt> {
    const { format, reason, lease } = this.#parts;
    const { on_incomplete, thought } = this.#settings;
    const { prompted, constraint } = tools;
    const { grammar } = constraint;
    const receiving =
      constraint.answer && !format.answersAtEnd
        ? proseLimit(this.#markupOf(tools))
        : { onText: (piece: string): void => output.push(piece) };
    const notes = { tool_call_format: format.name, because: reason };
    const options = { controlTokens: true, notes, ...(grammar && { grammar }), ...receiving };
    const request = this.#createRequest(turn, tools, correction);
    const { text, finishReason } = await this.#inference.complete(turn, request, options);
    const isCutOff = finishReason === 'length';
    const reading = { tools: prompted, marks: lease.model.replyMarks, thought, isCutOff };
    const reply = await readReply(text, format, reading, constraint);
    return judgeReply(turn, reply, {
      nodeName: this.#nodeName,
      turnTools: tools,
      mentions: lazyMentions(turn, () => this.#settings.system.render(turn)),
      sendsIncomplete: on_incomplete === 'notify',
      isCutOff,
      canRetry: this.#maxRetries > 0,
      retriesUnknown: format.retriesUnknown ?? false,
    });
  }

  /** The answer of a reply without a call: JSON is asked for, unless it is written already. */
  async #finish(turn: Turn, tools: TurnTools, output: ReplyText, answer: string): Promise<void> {
    const { answer: rule } = tools.constraint;
    if (!rule || (await isMatch(answer, rule))) return output.end(answer);
    const { stream } = this.#settings;
    const text = await this.#completeAnswer(turn, tools, stream ? (piece) => output.pass(piece) : undefined);
    if (!stream) output.end(text);
  }

  async #answerWithoutTools(turn: Turn): Promise<void> {
    const { stream } = this.#settings;
    const text = await this.#completeAnswer(turn, undefined, stream ? (piece) => turn.say(piece, 'delta') : undefined);
    if (!stream) turn.say(text, 'whole');
  }

  #completeAnswer(
    turn: Turn,
    tools: TurnTools | undefined,
    onText: ((piece: string) => void) | undefined,
  ): Promise<string> {
    const { answer: rule } = this.#compiler.declarations;
    const markup = markupOf(this.#parts.lease.model.toolDialect);
    const options = { nodeName: this.#nodeName, markup, rule, onText };
    return completeAnswer(turn, this.#inference, this.#createRequest(turn, tools), options);
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

  /** What is no part of an answer that has calls, too. */
  #markupOf({ tools }: TurnTools): StreamableTextOptions {
    return { markup: this.#parts.format.markup, toolNames: new Set(tools.keys()) };
  }
}

/** The rounds of earlier requests count, so that a loop over several of them ends, too. */
function initialLoop({ continuesAfter, exchanges }: Turn, nodeName: string): LoopState {
  const rounds = continuesAfter === nodeName ? exchanges.length : 0;
  return { rounds, repeats: 0, hasResults: rounds > 0, hasText: false };
}

/** What a ToolCall node may do in a turn. */
function toolCallEffects(params: ToolCallParams): NodeEffects {
  const { tools, tool_choice, generate_on_no_tool, notify_client, await_results, stream } = params;
  const isOffered = tool_choice !== 'none';
  const needsSelection = params.tools_from === 'selection';
  const named = tools.filter((tool) => declaredToolName(tool) === tool_choice);
  const isAsked = !needsSelection && !(named.length > 0 ? named : tools).every(dependsOnTurn);
  // With another choice the model has to call a tool. Where it is offered none, it is not asked.
  const alwaysAnswers = isOffered ? isAsked && (generate_on_no_tool || tool_choice !== 'auto') : generate_on_no_tool;
  return {
    // Without tools it only answers, or does nothing.
    infers: isOffered || generate_on_no_tool,
    sends: generate_on_no_tool ? ['no_tool_called', ...(stream ? ['tool_called', 'no_results'] : [])] : [],
    showsCalls: false,
    held: 'kept',
    tools: isOffered ? callableTools(params) : [],
    // After max_rounds the exit is no_tool_called.
    limitedExits: ['tool_called', 'no_results'],
    unusedExits: isOffered ? (await_results ? [] : ['no_results']) : ['tool_called', 'no_results'],
    silentExits: [...(notify_client ? [] : ['tool_called']), ...(alwaysAnswers ? [] : ['no_tool_called'])],
    needsSelection: needsSelection && tools.map(declaredToolName),
  };
}

/** Whether a tool can be left out of a turn, because values of its parameters come with the message; one that is only named is not known. */
function dependsOnTurn(declaration: ToolDeclaration | string): boolean {
  if (typeof declaration === 'string') return false;
  const reading = readTool(declaration);
  return reading.ok && reading.value.enumSources !== undefined;
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
    return { name, ...delivery, isConsequential: isConsequential(tool), needsSelection, onlyAfterResult };
  });
  if (strict) return declared;
  // Without a grammar a model may write any name; with a choice calls have to match one.
  const onlyAfterResult = tool_choice !== 'auto';
  const other = { name: undefined, ...delivery, isConsequential: false, needsSelection: false, onlyAfterResult };
  return [...declared, other];
}

// A tool that is only named may be.
function isConsequential(declaration: ToolDeclaration | string): boolean {
  if (typeof declaration === 'string') return true;
  const reading = readTool(declaration);
  return reading.ok && reading.value.consequential;
}
