import { memoized } from '../../../base/memoized.ts';
import type { ToolExchange } from '../../dialog.ts';
import type { ReplyMarks } from '../../replyMarks.ts';
import type { CallSample, LayoutSamples, ToolProbe } from './probes.ts';
import { layoutProbes, plainProbe, probeTools, probeWithoutCalls } from './probes.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { WrittenProbe } from './prove.ts';
import type { Tool } from '../../tool.ts';
import { toFunctionDefinition } from '../../formats/toolText.ts';
import { commonStart } from './texts.ts';
import type { CallConvention, CallMessageForm } from '../../dialect/toolDialect.ts';
import { type RenderTemplate, type TemplateMessage, unlessRefused } from '../templateInput.ts';
import { toTemplateMessages } from '../templateMessages.ts';

const question = 'Zqword question.';
const user: TemplateMessage = { role: 'user', content: question };

/** Renders probes in one convention. All methods throw what the template throws. */
export class ProbeRenderer {
  readonly #form: CallMessageForm;
  readonly #render: RenderTemplate;
  /** The prompt from the end of the user's message to where the assistant's answer starts. */
  readonly #generationPrompt = memoized((tools: readonly Tool[]) => this.#afterUser([user], tools, true));

  constructor(render: RenderTemplate, form: CallMessageForm) {
    this.#render = render;
    this.#form = form;
  }

  /** The whole prompt with the tools, before the assistant's answer. */
  prompt(): string {
    return this.#render({ messages: [user], tools: probeTools.map(toFunctionDefinition) });
  }

  /** What the template writes for an assistant message of this text, after the generation prompt. */
  answer(text: string): string {
    return this.#afterGenerationPrompt([{ role: 'assistant', content: text }], probeTools);
  }

  /** The same for a message with calls. The layout is derived from some of the probes that prove it. */
  readonly calls = memoized((probe: ToolProbe) => this.#write(probe));

  #write({ calls, tools, text = '', reasoning, result }: ToolProbe): string {
    const exchanges: ToolExchange[] = [{ kind: 'calls', text, calls }];
    const [first] = calls;
    if (result !== undefined && first)
      exchanges.push({ kind: 'result', callId: first.id, name: first.name, content: result });
    const convention = { ...this.#form, severalCalls: true, textWithCalls: true };
    const messages = toTemplateMessages(
      exchanges.map((toolExchange) => ({ role: 'assistant', text: '', toolExchange })),
      { convention, layout: undefined },
    );
    const thought = reasoning !== undefined && { reasoning_content: reasoning, reasoning, thinking: reasoning };
    return this.#afterGenerationPrompt(
      messages.map((message) => (message.tool_calls ? { ...message, ...thought } : message)),
      tools,
    );
  }

  /** How the template takes calls, in the form of this renderer. */
  convention(): CallConvention {
    const { two, afterText } = layoutProbes;
    return { ...this.#form, severalCalls: this.writesCalls(two), textWithCalls: this.writesCalls(afterText) };
  }

  /** Whether the template writes the calls of a probe with names and arguments; false where it refuses them. */
  writesCalls(probe: ToolProbe = layoutProbes.one): boolean {
    const { calls } = probe;
    const text = unlessRefused(() => this.calls(probe));
    if (text === undefined) return false;
    return calls.every(({ name, arguments: args }) =>
      [name, ...Object.values(args)].every((part) => text.includes(String(part))),
    );
  }

  /** Whether the template writes a message of role `tool`, after a message with the call or without. */
  writesResults(withCall: boolean): boolean {
    const { calls, tools } = layoutProbes.one;
    const [call] = calls;
    const result = 'Zqword result.';
    const text = unlessRefused(() => {
      if (withCall) return this.calls({ ...layoutProbes.one, result });
      const answer: TemplateMessage = { role: 'assistant', content: plainProbe };
      const message = { role: 'tool' as const, name: call?.name ?? '', tool_call_id: call?.id ?? '', content: result };
      return this.#afterGenerationPrompt([answer, message], tools);
    });
    return text?.includes(result) ?? false;
  }

  #afterGenerationPrompt(messages: readonly TemplateMessage[], tools: readonly Tool[]): string {
    const text = this.#afterUser([user, ...messages], tools, false);
    return text.slice(commonStart(text, this.#generationPrompt(tools)).length);
  }

  #afterUser(messages: readonly TemplateMessage[], tools: readonly Tool[], addGenerationPrompt: boolean): string {
    const text = this.#render({ messages, tools: tools.map(toFunctionDefinition), addGenerationPrompt });
    const start = text.lastIndexOf(question);
    if (start < 0) throw new Error("the template leaves the user's message out");
    return text.slice(start + question.length);
  }
}

/** The messages from which the layout of a template's calls is derived. @throws Error when it refuses a single call. */
export function layoutSamples(renderer: ProbeRenderer, marks: ReplyMarks): LayoutSamples {
  const sample = (probe: ToolProbe): CallSample => ({ text: renderer.calls(probe), calls: probe.calls });
  const optional = (probe: ToolProbe): CallSample | undefined => {
    const written = unlessRefused(() => sample(probe));
    return probe.calls.every(({ name }) => written?.text.includes(name)) ? written : undefined;
  };
  const { afterText, afterReasoning } = layoutProbes;
  const preceded = [
    { written: optional(afterText), preceding: afterText.text },
    { written: optional(afterReasoning), preceding: afterReasoning.reasoning },
  ].flatMap(({ written, preceding }) => (written?.text.includes(preceding) ? [{ text: written.text, preceding }] : []));
  return {
    one: sample(layoutProbes.one),
    empty: optional(layoutProbes.empty),
    two: optional(layoutProbes.two),
    list: optional(layoutProbes.list),
    literals: optional(layoutProbes.literals) ?? optional(layoutProbes.booleans),
    plain: { text: renderer.answer(plainProbe), answer: plainProbe },
    preceded,
    marks,
  };
}

/** What a template writes for probes, and for a message without calls. @param write throws where it refuses a probe. */
export function writeProbes(
  probes: readonly ToolProbe[],
  renderer: ProbeRenderer,
  write = (probe: ToolProbe): string => renderer.calls(probe),
): readonly WrittenProbe[] {
  const written = probes.map((probe): WrittenProbe => {
    try {
      return { probe, text: write(probe), refusal: '' };
    } catch (error) {
      return { probe, text: undefined, refusal: describeError(error) };
    }
  });
  return [...written, { probe: probeWithoutCalls, text: renderer.answer(plainProbe), refusal: '' }];
}
