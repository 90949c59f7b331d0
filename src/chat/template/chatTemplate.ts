import { memoized } from '../../base/memoized.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { ToolDefinition, Message } from '../dialog.ts';
import { openedAtEnd, type ReplyMarks } from '../replyMarks.ts';
import { deriveReplyMarks } from './deriveReplyMarks.ts';
import { noDialect, type ToolDialect } from '../dialect/layout.ts';
import { findThinkingVariable, type ThinkingVariable } from './thinkingVariable.ts';
import { toolDialectOf } from './derive/readToolDialect.ts';
import { TemplateLimitError, TotalStepBudget } from './jinja/stepBudget.ts';
import { type RenderTemplate, unlessRefused } from './templateInput.ts';
import type { ArgumentsSchema } from '../tool.ts';
import { omittedKeywords } from '../tools/promptedKeywords.ts';
import { toTemplateMessages, toTextMessage } from './templateMessages.ts';
import { type FamilyLayout, layoutOf, noTemplateNote, noTemplateReason } from './familyLayouts.ts';
import { clockAt, compileTemplate, type SpecialTokens } from './compileTemplate.ts';

/** A model's chat template with what it supports, found by rendering probes. */
export interface ChatTemplate extends Pick<MessageRules, 'system' | 'normalizeMessages'> {
  /** The template itself (Jinja). */
  readonly source: string;
  readonly supportsTools: boolean;
  /** Whether the template writes these tools: some refuse parameters without a description, or with several types. */
  acceptsTools(tools: readonly ToolDefinition[]): boolean;
  readonly toolDialect: ToolDialect;
  /** Why the file's own template is not used, and the family whose layout is used instead; undefined: it is used. */
  readonly fallback: TemplateFallback | undefined;
  /** Warnings for the owner of the model: why the file's own template is not used, which messages it does not support. */
  readonly notes: readonly string[];
  /** The marks of the parts of a reply, read off the template. */
  readonly replyMarks: ReplyMarks;
  /** The variable that controls reasoning; undefined: the template has none. */
  readonly thinkingVariable: ThinkingVariable | undefined;
  readonly render: RenderTemplate;
}

/** What is used in place of a file's own template. */
export interface TemplateFallback {
  readonly reason: string;
  /** The family in whose layout prompts are written: ChatML, Gemma. */
  readonly layout: string;
}

/**
 * Compiles and probes a chat template (Jinja source); where there is none that works, falls back to the layout of the family
 * whose control tokens the vocabulary has.
 * @param name of the template, for errors: the key of its metadata, or its file.
 * @param isInVocabulary whether a spelling is one token; absent: the vocabulary is not known.
 * @throws Fault MODEL_LOAD_FAILED with the name and the line for one that takes too many steps, too much time or memory.
 */
export function probeChatTemplate(
  source: string | undefined,
  specialTokens: SpecialTokens,
  name = 'tokenizer.chat_template',
  isInVocabulary: (spelling: string) => boolean = () => false,
): ChatTemplate {
  const layout = layoutOf(isInVocabulary);
  if (source === undefined) return templateOfFamily(layout, specialTokens, noTemplateReason);
  const clock = clockAt(new Date());
  const failures: string[] = [];
  // Variables that some templates cannot do without. The smallest set that works wins: a template behaves as intended
  // when it is given no clock and no empty list of tools.
  const total = new TotalStepBudget(maxProbeSteps);
  for (const extras of [{}, clock, { ...clock, tools: [] }]) {
    try {
      const probe = compileTemplate(source, specialTokens, extras, total);
      if (probe({ messages: [toTextMessage(userProbe)] }).includes(userProbe.text)) {
        const render = compileTemplate(source, specialTokens, extras);
        const chatTemplate = createChatTemplate(source, { render, probe, total });
        total.check();
        return chatTemplate;
      }
      failures.push("it leaves the user's message out");
    } catch (error) {
      if (error instanceof TemplateLimitError)
        throw new Fault('MODEL_LOAD_FAILED', `its chat template is refused: ${name}, ${error.message}`, {
          cause: error,
        });
      failures.push(describeError(error));
    }
  }
  const reason = `the file's chat template does not work (${failures[0]})`;
  return templateOfFamily(layout, specialTokens, reason, source);
}

// Some ten times what published templates take.
const maxProbeSteps = 4_000_000;

/** @param fileSource of the file's own template: the model writes the marks that are in it. */
function templateOfFamily(
  { family, source }: FamilyLayout,
  specialTokens: SpecialTokens,
  reason: string,
  fileSource = '',
): ChatTemplate {
  const render = compileTemplate(source, specialTokens);
  return createChatTemplate(source, { render, probe: render }, { reason, layout: family }, fileSource);
}

/** One template twice: for prompts, and with a limit of what all probes take together. */
interface ProbedTemplate {
  readonly render: RenderTemplate;
  readonly probe: RenderTemplate;
  readonly total?: TotalStepBudget;
}

const toolProbe: ToolDefinition = {
  type: 'function',
  function: {
    name: 'probe_of_a_tool',
    description: 'Probe of what it does.',
    // With a description: some templates append it to a string.
    parameters: {
      type: 'object',
      properties: { probe: { type: 'string', description: 'Probe of a parameter.' } },
      required: ['probe'],
    },
  },
};

/** @param fileSource of the file's own template. */
function createChatTemplate(
  text: string,
  { render, probe, total }: ProbedTemplate,
  fallback?: TemplateFallback,
  fileSource = text,
): ChatTemplate {
  const replyMarks = deriveReplyMarks(fileSource, probe);
  const supportsTools = renderTools(probe, [toolProbe])?.includes(toolProbe.function.name) ?? false;
  const omits = supportsTools ? omittedKeywords((parameters) => renderTools(probe, [withParameters(parameters)])) : [];
  const dialect = fallback ? noDialect(fallback.reason) : toolDialectOf(text, probe, replyMarks, total);
  const toolDialect = omits.length > 0 ? { ...dialect, omits } : dialect;
  const { system, dropsSystemBeforeResults, normalizeMessages } = messageRules((messages) =>
    probe({ messages: toTemplateMessages(messages, toolDialect) }),
  );
  const notes = fallback ? [`${fallback.reason}, so prompts are written as ${fallback.layout}`] : [];
  if (fallback?.reason === noTemplateReason) notes.push(noTemplateNote);
  if (system === 'nowhere')
    notes.push("the model's chat template supports no system messages: they are written as user messages");
  else if (system === 'first')
    notes.push(
      "the model's chat template supports a system message only at the start: later ones are written as user messages",
    );
  if (dropsSystemBeforeResults)
    notes.push("the model's chat template leaves the system message out of prompts that end with results of calls");
  const thinkingVariable = findThinkingVariable(text, probe);
  if (thinkingVariable && !thinkingVariable.canBeOff)
    notes.push(
      "the model's chat template cannot turn reasoning off: " +
        `without thinking, ${thinkingVariable.name} is "${thinkingVariable.off}"`,
    );
  else if (!thinkingVariable && openedAtEnd(probe({ messages: [toTextMessage(userProbe)] }), replyMarks))
    notes.push("the model's chat template cannot turn reasoning off: the model reasons also without thinking");
  return {
    source: text,
    supportsTools,
    acceptsTools: memoized((tools: readonly ToolDefinition[]) => renderTools(render, tools) !== undefined),
    toolDialect,
    fallback,
    system,
    notes,
    replyMarks,
    thinkingVariable,
    normalizeMessages,
    render,
  };
}

const withParameters = (parameters: ArgumentsSchema): ToolDefinition => ({
  ...toolProbe,
  function: { ...toolProbe.function, parameters },
});

/** What a template writes for a question with tools; undefined where it refuses them, or leaves the question out. */
function renderTools(render: RenderTemplate, tools: readonly ToolDefinition[]): string | undefined {
  const text = unlessRefused(() => render({ messages: [toTextMessage(userProbe)], tools }));
  return text?.includes(userProbe.text) ? text : undefined;
}

interface MessageRules {
  /** Which system messages are written as such; the others are written as user messages. */
  readonly system: 'anywhere' | 'first' | 'nowhere';
  /** Whether the template leaves the system message out of a prompt that ends with the result of a call. */
  readonly dropsSystemBeforeResults: boolean;
  /** The messages with roles and in an order that the template accepts. */
  normalizeMessages(messages: readonly Message[]): readonly Message[];
}

/** Probes a chat template. @param render throws what the template throws. */
function messageRules(render: (messages: readonly Message[]) => string): MessageRules {
  // Some templates throw on a message that they do not support, others leave it out silently.
  const accepts = (...messages: readonly Message[]): boolean => {
    const text = unlessRefused(() => render(messages));
    return text !== undefined && messages.every((message) => text.includes(message.text));
  };
  const acceptsSystemFirst = accepts(systemProbe, userProbe);
  const acceptsSystemAnywhere =
    acceptsSystemFirst &&
    accepts(systemProbe, userProbe, assistantProbe, laterSystemProbe, laterUserProbe) &&
    accepts(userProbe, laterSystemProbe);
  const acceptsRepeatedRoles =
    accepts(systemProbe, userProbe, laterUserProbe) &&
    accepts(userProbe, assistantProbe, assistantProbe, laterUserProbe);
  const acceptsAssistantFirst =
    accepts(assistantProbe, userProbe) && (!acceptsSystemFirst || accepts(systemProbe, assistantProbe, userProbe));
  const dropsSystemBeforeResults =
    acceptsSystemFirst &&
    unlessRefused(() => render([systemProbe, userProbe, callProbe, resultProbe]))?.includes(systemProbe.text) === false;
  return {
    dropsSystemBeforeResults,
    system: acceptsSystemAnywhere ? 'anywhere' : acceptsSystemFirst ? 'first' : 'nowhere',
    normalizeMessages(messages) {
      const withKnownRoles = acceptsSystemAnywhere
        ? messages
        : messages.map((message, index) => (acceptsSystemFirst && index === 0 ? message : systemAsUser(message)));
      const ordered = acceptsAssistantFirst ? withKnownRoles : userFirst(withKnownRoles);
      return acceptsRepeatedRoles && acceptsSystemAnywhere ? ordered : mergeAdjacent(ordered);
    },
  };
}

const systemAsUser = (message: Message): Message =>
  message.role === 'system' ? { role: 'user', text: message.text } : message;

function userFirst(messages: readonly Message[]): readonly Message[] {
  const start = messages[0]?.role === 'system' ? 1 : 0;
  if (messages[start]?.role !== 'assistant') return messages;
  return [...messages.slice(0, start), { role: 'user', text: '' }, ...messages.slice(start)];
}

function mergeAdjacent(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const areText = last && !last.toolExchange && !message.toolExchange;
    if (areText && last.role === message.role)
      merged[merged.length - 1] = { ...last, text: `${last.text}\n\n${message.text}` };
    else merged.push(message);
  }
  return merged;
}

const systemProbe: Message = { role: 'system', text: 'Probe of a rule.' };
const userProbe: Message = { role: 'user', text: 'Probe of a question.' };
const assistantProbe: Message = { role: 'assistant', text: 'Probe of an answer.' };
const laterSystemProbe: Message = { role: 'system', text: 'Probe of a later rule.' };
const laterUserProbe: Message = { role: 'user', text: 'Probe of a later question.' };
// A template of Mistral accepts only ids of nine characters.
const probeCall = { id: 'probe1234', name: 'probe_of_a_tool', arguments: {} } as const;
const callProbe: Message = {
  role: 'assistant',
  text: 'Probe of a call.',
  toolExchange: { kind: 'calls', text: '', calls: [probeCall] },
};
const resultProbe: Message = {
  role: 'user',
  text: 'Probe of a result.',
  toolExchange: { kind: 'result', callId: probeCall.id, name: probeCall.name, content: 'Probe of a result.' },
};
