import type { ReplyMarks } from '../../replyMarks.ts';
import {
  type CallSample,
  layoutProbes,
  type LayoutSamples,
  plainProbe,
  probeTools,
  probeWithoutCalls,
  type ToolProbe,
} from './probes.ts';
import { describeError } from '../../../protocol/fault.ts';
import { stringifyJson } from '../../json/value.ts';
import type { WrittenProbe } from './prove.ts';
import type { Tool } from '../../tool.ts';
import { toFunctionDefinition } from '../../formats/toolText.ts';
import { commonStart } from './texts.ts';
import type { CallConvention, CallMessageForm } from '../../dialect/toolDialect.ts';
import { type RenderTemplate, type TemplateMessage, type TemplateToolCall, unlessRefused } from '../templateInput.ts';

const question = 'Zqword question.';
const user: TemplateMessage = { role: 'user', content: question };

/** Renders probes in one convention. All methods throw what the template throws. */
export class ProbeRenderer {
  readonly #form: CallMessageForm;
  readonly #render: RenderTemplate;
  /** The prompt from the end of the user's message to where the assistant's answer starts, by tools. */
  readonly #generationPrompts = new Map<readonly Tool[], string>();
  /** What was written: the layout is derived from some of the probes that prove it. */
  readonly #written = new Map<ToolProbe, string>();

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

  /** The same for a message with calls. */
  calls(probe: ToolProbe): string {
    const text = this.#written.get(probe) ?? this.#write(probe);
    this.#written.set(probe, text);
    return text;
  }

  #write({ calls, tools, text, reasoning, result }: ToolProbe): string {
    const toolCalls = calls.map(({ id, name, arguments: args }, index): TemplateToolCall => {
      const ownId = this.#form.ids === 'functions' ? `functions.${name}:${index}` : id;
      const written = this.#form.arguments === 'object' ? args : stringifyJson(args);
      return { id: ownId, type: 'function', function: { name, arguments: written } };
    });
    const message: TemplateMessage = {
      role: 'assistant',
      content: text ?? this.#form.content,
      ...(reasoning !== undefined && { reasoning_content: reasoning, reasoning, thinking: reasoning }),
      tool_calls: toolCalls,
    };
    const [first] = toolCalls;
    if (result === undefined || !first) return this.#afterGenerationPrompt([message], tools);
    const { id, function: called } = first;
    const resultMessage: TemplateMessage = { role: 'tool', name: called.name, tool_call_id: id, content: result };
    return this.#afterGenerationPrompt([message, resultMessage], tools);
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
    const prompt = this.#generationPrompts.get(tools) ?? this.#afterUser([user], tools, true);
    this.#generationPrompts.set(tools, prompt);
    const text = this.#afterUser([user, ...messages], tools, false);
    return text.slice(commonStart(text, prompt).length);
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

/**
 * What a template writes for probes, and for a message without calls.
 * @param write throws where the template refuses a probe; default: as the template writes calls.
 */
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
