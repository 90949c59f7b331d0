import { LruCache } from '../../../base/lruCache.ts';
import { formats, type Formats } from '../../formats/index.ts';
import type { CallConvention, CallMessageForm, ToolDialect, CallLayout } from '../../dialect/layout.ts';
import { noDialect } from '../../dialect/layout.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../replyMarks.ts';
import type { TotalStepBudget } from '../jinja/stepBudget.ts';
import { unlessRefused, type RenderTemplate, type TemplateMessage } from '../templateInput.ts';
import { describeError } from '../../../protocol/fault.ts';
import { deriveLayouts, type CandidateLayouts } from './deriveLayout.ts';
import { knownLayouts } from '../../dialect/knownLayouts.ts';
import { nativeFormat, nativeFormatName, writeCalls } from '../../dialect/nativeFormat.ts';
import { FormatProof, type WrittenProbe } from './prove.ts';
import { toWrittenCall, toTemplateMessages } from '../templateMessages.ts';
import type { ToolProbe, CallSample, LayoutSamples } from './probes.ts';
import { layoutProbes, marksOf, probeTools, proofProbes, plainProbe, probeWithoutCalls } from './probes.ts';
import { memoized } from '../../../base/memoized.ts';
import type { ToolExchange } from '../../dialog.ts';
import type { Tool } from '../../tool.ts';
import { toFunctionDefinition } from '../../formats/toolText.ts';
import { commonStart } from './texts.ts';

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

  /** Whether the prompt shows the tools to the model; false where the template refuses them. */
  knowsTools(): boolean {
    return unlessRefused(() => this.prompt())?.includes(probeTools[0]?.name ?? '') ?? false;
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
function layoutSamples(renderer: ProbeRenderer, marks: ReplyMarks): LayoutSamples {
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

const anyForm: CallMessageForm = { arguments: 'object', content: '', ids: 'any' };

// In the order in which they are tried: the first in which a template writes calls as they are.
const forms: readonly CallMessageForm[] = [
  anyForm,
  { arguments: 'string', content: '', ids: 'any' },
  { arguments: 'object', content: null, ids: 'any' },
  { arguments: 'string', content: null, ids: 'any' },
  { arguments: 'object', content: '', ids: 'functions' },
];

/**
 * Reads the tool-call dialect off a chat template: renders probes, derives the layout of calls, and proves which format
 * gives the calls back. A format that fails the proof is not used.
 * @param formats the formats that are tried before the template's own layout.
 * @param marks those of the template's replies.
 */
export function readToolDialect(
  render: RenderTemplate,
  formats: Formats,
  marks: ReplyMarks = defaultReplyMarks,
): ToolDialect {
  const failures: string[] = [];
  const writing: ProbeRenderer[] = [];
  for (const form of forms) {
    try {
      const renderer = new ProbeRenderer(render, form);
      if (!renderer.writesCalls()) continue;
      writing.push(renderer);
      const layouts = deriveLayouts(layoutSamples(renderer, marks));
      const written = writeProbes(proofProbes(marksOf(layouts[0])), renderer);
      const layout = firstProved(layouts, written, marks);
      return chooseProved(written, { layout, convention: renderer.convention(), formats, renderer, marks });
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  const [because = 'the message has no call'] = failures;
  const [first] = writing;
  return (first ? undefined : readSilentTemplate(render, formats, marks)) ?? unknownDialect(because, render, first);
}

function firstProved(layouts: CandidateLayouts, written: readonly WrittenProbe[], marks: ReplyMarks): CallLayout {
  const holds = (layout: CallLayout): boolean => new FormatProof(nativeFormat(layout), written, marks).holds();
  const [first, ...others] = layouts;
  return others.length === 0 || holds(first) ? first : (others.find(holds) ?? first);
}

/** A template that shows tools to the model, but leaves calls out of the history: its layout can only be known. */
function readSilentTemplate(render: RenderTemplate, formats: Formats, marks: ReplyMarks): ToolDialect | undefined {
  const renderer = new ProbeRenderer(render, anyForm);
  if (!renderer.knowsTools()) return undefined;
  return unlessRefused(() => {
    const prompt = renderer.prompt();
    const known = knownLayouts.find(({ isShownIn }) => isShownIn(prompt));
    if (!known) return undefined;
    const { layout } = known;
    const write = ({ calls, text = '' }: ToolProbe): string =>
      renderer.answer(text + writeCalls(calls.map(toWrittenCall), layout));
    const probes = proofProbes(marksOf(layout)).filter(({ reasoning, result }) => (reasoning ?? result) === undefined);
    const written = writeProbes(probes, renderer, write);
    const dialect = chooseProved(written, { layout, convention: undefined, formats, renderer, marks });
    const because = `its chat template leaves calls out, and its prompt is that of ${known.family}`;
    return { ...dialect, because: dialect.format === undefined ? dialect.because : because };
  });
}

/** A template whose calls cannot be read; `writing`: in which convention it writes them, if in one. */
function unknownDialect(why: string, render: RenderTemplate, writing: ProbeRenderer | undefined): ToolDialect {
  const renderer = writing ?? new ProbeRenderer(render, anyForm);
  const knows = renderer.knowsTools();
  return {
    ...noDialect(knows ? `its chat template shows no calls: ${why}` : 'its chat template knows no tools'),
    knowsTools: knows,
    convention: writing?.convention(),
    writesResults: renderer.writesResults(writing !== undefined),
    probes: [{ name: layoutProbes.one.name, required: true, ok: false, why }],
  };
}

interface Derived {
  readonly layout: CallLayout;
  readonly convention: CallConvention | undefined;
  readonly formats: Formats;
  readonly renderer: ProbeRenderer;
  readonly marks: ReplyMarks;
}

function chooseProved(
  written: readonly WrittenProbe[],
  { layout, convention, formats, renderer, marks }: Derived,
): ToolDialect {
  const native = new FormatProof(nativeFormat(layout), written, marks).verdicts();
  const failure = native.find(({ required, ok }) => required && !ok);
  const common = {
    knowsTools: renderer.knowsTools(),
    layout: failure ? undefined : layout,
    convention,
    writesResults: renderer.writesResults(convention !== undefined),
  };
  for (const format of formats.values()) {
    const proof = new FormatProof(format, written, marks);
    if (!proof.holds()) continue;
    return { ...common, format: format.name, because: 'its chat template proves it', probes: proof.verdicts() };
  }
  if (failure) {
    // Without the text of the template, which the probe has.
    const [why = ''] = failure.why.split(': "');
    const because = `its chat template proves no format: ${failure.name} ${why}`;
    return { ...common, format: undefined, because, probes: native };
  }
  const because = 'its chat template has a layout of its own, which proved itself';
  return { ...common, format: nativeFormatName, because, probes: native };
}

// Models are loaded again after they were unloaded, and several files of a family have the same template.
const dialects = new LruCache<ToolDialect>({ maxEntries: 32 });

/** A template's dialect, read once for each text. @param total its steps. @throws Error when they are used up. */
export function toolDialectOf(
  source: string,
  render: RenderTemplate,
  marks: ReplyMarks,
  total?: TotalStepBudget,
): ToolDialect {
  const known = dialects.get(source);
  if (known) return known;
  const dialect = readToolDialect(render, formats, marks);
  total?.check();
  dialects.set(source, dialect);
  return dialect;
}
