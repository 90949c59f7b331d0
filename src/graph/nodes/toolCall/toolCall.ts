import { liveParams } from '../../compile/liveParams.ts';
import { defineNode, InvalidParams, unwrapParam, type NodeContext, type NodeOutput } from '../../compile/node.ts';
import { warnOfUnknownKnowledge } from '../../compile/knowledgeNames.ts';
import { compileTemplate } from '../../compile/template.ts';
import type { Turn } from '../../compile/turn.ts';
import { chatProjection } from '../../projection/chat.ts';
import { placeTemplate } from '../../projection/placement.ts';
import type { Formats } from '../../../chat/formats/index.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { declaredToolName, type ToolDeclaration } from '../../../chat/tools/declaration/toolSchema.ts';
import { markupOf } from '../../../chat/dialect/dialectFormats.ts';
import type { StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';
import { answerWithoutCalls } from '../answerWithoutCalls.ts';
import { InferenceRunner, resolveModel, type PromptRequest } from '../inference.ts';
import { judgeReply, type Attempt } from './attempt.ts';
import { isMatch } from './callConstraint.ts';
import { completeJson } from './completeJson.ts';
import { declareOffer, isSameOffer, type DeclaredOffer } from './declaredOffer.ts';
import { lazyMentions } from './judgeCall.ts';
import { collectResults, recordCalls } from './recordCalls.ts';
import { ProseLimit } from './proseLimit.ts';
import { readReply } from './readReply.ts';
import { ReplyText } from './replyText.ts';
import { resolveFormat } from './resolveFormat.ts';
import { toolCallFacts } from './toolCallFacts.ts';
import { toolCallParams, type ToolCallParams } from './toolCallParams.ts';
import type { PartialSampling } from '../../../inference/contract/samplingParams.ts';
import { ToolOffers, type ToolOffer } from './toolOffers.ts';

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
    output: nodeOutput,
    facts: toolCallFacts,
    toolNames: ({ tools }) => tools.map(declaredToolName),
    async create(params, context) {
      const { nodeName } = context;
      const declaration = declareOffer(params, context);
      const settings = await liveParams(params, (current) => readSettings(current, context));
      const lease = await resolveModel(context, params.model_name);
      const { format, reason, warning } = resolveFormat(params.tool_call_format, lease, formats);
      if (warning !== '') context.warn(`${nodeName}.params.tool_call_format ${warning}`);
      const createOffers = (declared: DeclaredOffer): Promise<ToolOffers> =>
        ToolOffers.create({ declared, format, model: lease.model, nodeName });
      let offers = await createOffers(declaration);
      const plainProjection = chatProjection(lease.model);
      const inference = new InferenceRunner(lease, context, { temperature: 0 });
      const loops = new WeakMap<Turn, LoopState>();
      const { stop = [], retriesUnknown = false } = format;
      const stopOf = ({ stop: own }: PartialSampling): readonly string[] => own ?? lease.defaultSampling.stop;
      const maxRetries = (): number => settings.current.retries ?? format.retries ?? 0;

      const searched = (offer: ToolOffer): StreamableTextOptions => ({
        markup: format.markup,
        toolNames: new Set(offer.tools.keys()),
      });

      const createRequest = (turn: Turn, offer: ToolOffer | undefined, correction = ''): PromptRequest => {
        const { system, sampling, thinking, max_thinking_tokens } = settings.current;
        return {
          projection: offer?.projection ?? plainProjection,
          system: system.render(turn),
          current: placeTemplate(turn.message),
          ...(correction !== '' && { last: [{ role: 'system', text: correction }] }),
          sampling: offer ? { ...sampling, stop: [...stopOf(sampling), ...stop] } : sampling,
          thinking,
          maxThinkingTokens: max_thinking_tokens,
        };
      };
      const ask = async (turn: Turn, offer: ToolOffer, output: ReplyText, correction = ''): Promise<Attempt> => {
        const { on_incomplete, thought } = settings.current;
        const { tools: declared, seen: tools, constraint, withheld, guidelines } = offer;
        const notes = { tool_call_format: format.name, because: reason };
        const { grammar } = constraint;
        const prose = constraint.answer && !format.answersAtEnd && new ProseLimit(searched(offer));
        const receiving = prose
          ? { onText: (piece: string): void => prose.push(piece), enough: prose.signal }
          : { onText: (piece: string): void => output.push(piece) };
        const options = { controlTokens: true, notes, ...(grammar && { grammar }), ...receiving };
        const { text, finishReason } = await inference.complete(turn, createRequest(turn, offer, correction), options);
        const isCutOff = finishReason === 'length';
        const reading = { tools, marks: lease.model.replyMarks, thought, isCutOff };
        const reply = await readReply(text, format, reading, constraint);
        const sendsIncomplete = on_incomplete === 'notify';
        const rules = { tools: declared, guidelines, mentions: lazyMentions(turn), sendsIncomplete };
        const facts = { isCutOff, canRetry: maxRetries() > 0, retriesUnknown };
        return judgeReply(turn, reply, { nodeName, constraint, withheld, rules, ...facts });
      };
      const askWithRetries = async (turn: Turn, offer: ToolOffer, output: ReplyText): Promise<Attempt> => {
        let attempt = await ask(turn, offer, output);
        for (let retry = 1; attempt.problem !== undefined && retry <= maxRetries(); retry++) {
          turn.emitEvent('tool_retry', { reason: attempt.problem, attempt: retry }, { always: true });
          const correction = `Your last reply was no usable call: ${attempt.problem}. Write the whole call again.`;
          const next = await ask(turn, offer, output, correction);
          // Without another call, what the last one lacks is still to be asked for. A tool that does not exist is given up.
          const incomplete = attempt.calls.filter(({ kind }) => kind === 'incomplete');
          attempt = next.calls.length > 0 ? next : { ...next, calls: incomplete };
        }
        return attempt;
      };

      const answerWithoutTools = async (turn: Turn): Promise<void> => {
        const { stream } = settings.current;
        const streaming = stream ? { onText: (piece: string): void => turn.say(piece, 'delta') } : {};
        const request = createRequest(turn, undefined);
        const markup = markupOf(lease.model.toolDialect);
        const { answer: rule } = declaration;
        const text = rule
          ? await completeJson(turn, inference, request, { nodeName, rule, ...streaming })
          : (await answerWithoutCalls(turn, inference, request, { nodeName, markup, ...streaming })).text;
        if (!stream) turn.say(text, 'whole');
      };
      /** The answer of a reply without a call: JSON is asked for, unless it is written already. */
      const finish = async (turn: Turn, offer: ToolOffer, output: ReplyText, answer: string): Promise<void> => {
        const { answer: rule } = offer.constraint;
        if (!rule || (await isMatch(answer, rule))) return output.end(answer);
        const { stream } = settings.current;
        const streaming = stream ? { onText: (piece: string): void => output.pass(piece) } : {};
        const request = createRequest(turn, offer);
        const text = await completeJson(turn, inference, request, { nodeName, rule, ...streaming });
        if (!stream) output.end(text);
      };

      return {
        async run(turn) {
          const { tool_choice, generate_on_no_tool, stream, max_rounds, spoken, ...delivery } = settings.current;
          if (tool_choice === 'none') {
            if (generate_on_no_tool) await answerWithoutTools(turn);
            return 'no_tool_called';
          }
          const loop = loops.get(turn) ?? initialLoop(turn, nodeName);
          loops.set(turn, loop);
          if (loop.rounds === max_rounds) {
            turn.warn(`${nodeName} was visited more than ${max_rounds} times; raise max_rounds, or end the loop`);
            return 'no_tool_called';
          }
          const offer = await offers.offerFor(turn, loop.hasResults);
          if (!offer) return 'no_tool_called';
          loop.rounds++;
          // What is sent cannot be taken back for another attempt.
          const isStreamed = stream && !offer.constraint.answer && !format.answersAtEnd && maxRetries() === 0;
          const output = new ReplyText(turn, loop.hasText, isStreamed ? searched(offer) : undefined);
          const { calls, answer } = await askWithRetries(turn, offer, output);
          if (isStreamed) output.end(answer);
          loop.hasText ||= isStreamed && answer !== '';
          const record = recordCalls(turn, calls, delivery);
          loop.repeats += record.repeats;
          const isStuck = record.sent.length === 0 && record.known === 0 && loop.repeats >= maxRepeats;
          if (isStuck || record.slots.length === 0) {
            if (generate_on_no_tool && !isStreamed) await finish(turn, offer, output, answer);
            return 'no_tool_called';
          }
          turn.setSpoken(() => spoken.render(turn));
          const earlier = turn.exchanges.length;
          const exit = await collectResults(turn, record, { answer, format, nodeName, ...delivery });
          loop.hasResults ||= turn.exchanges.length > earlier;
          return exit;
        },
        warmUp: async (turn) => inference.prefill(turn, createRequest(turn, await offers.offerFor(turn, false))),
        async change(changed) {
          const isSame = isSameOffer(settings.current, changed);
          const next = isSame ? offers : await createOffers(declareOffer(changed, context));
          await settings.change(changed);
          offers = next;
        },
        [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
      };
    },
  });

/** The rounds of earlier requests count, so that a loop over several of them ends, too. */
function initialLoop({ continuesAfter, exchanges }: Turn, nodeName: string): LoopState {
  const rounds = continuesAfter === nodeName ? exchanges.length : 0;
  return { rounds, repeats: 0, hasResults: rounds > 0, hasText: false };
}

function nodeOutput(params: ToolCallParams): NodeOutput {
  const { tools, tool_choice, generate_on_no_tool, notify_client, await_results } = params;
  const needsSelection = params.tools_from === 'selection';
  const named = tools.filter((tool) => declaredToolName(tool) === tool_choice);
  const isAsked = !needsSelection && !(named.length > 0 ? named : tools).every(dependsOnTurn);
  // With another choice the model has to call a tool. Where it is offered none, it is not asked.
  const alwaysAnswers =
    tool_choice === 'none' ? generate_on_no_tool : isAsked && (generate_on_no_tool || tool_choice !== 'auto');
  return {
    ...(generate_on_no_tool && { text: 'sent' }),
    silentExits: [...(notify_client ? [] : ['tool_called']), ...(alwaysAnswers ? [] : ['no_tool_called'])],
    unusedExits: await_results ? [] : ['no_results'],
    needsSelection: needsSelection && tools.map(declaredToolName),
  };
}

/** Whether a tool can be left out of a turn, because values of its parameters come with the message. */
function dependsOnTurn(declaration: ToolDeclaration): boolean {
  const reading = readTool(declaration);
  return reading.ok && reading.value.enumSources !== undefined;
}

function readSettings(params: ToolCallParams, context: NodeContext) {
  const { await_results, notify_client, generate_on_no_tool, stream, response_schema: schema } = params;
  if (await_results && !notify_client) {
    const message = 'needs notify_client: the client learns of a call by its notification; set notify_client to true';
    throw new InvalidParams([{ pointer: '/await_results', message }]);
  }
  const answering = stream ? '/stream' : schema ? '/response_schema' : undefined;
  if (answering !== undefined && !generate_on_no_tool) {
    const message = 'needs generate_on_no_tool: without it the node sends no text; set generate_on_no_tool to true';
    throw new InvalidParams([{ pointer: answering, message }]);
  }
  const compile = (name: 'system_prompt' | 'spoken') => {
    const place = `${context.nodeName}.params.${name}`;
    const template = unwrapParam(`/${name}`, compileTemplate(params[name], place));
    warnOfUnknownKnowledge(template, place, context);
    return template;
  };
  return { ...params, system: compile('system_prompt'), spoken: compile('spoken') };
}
