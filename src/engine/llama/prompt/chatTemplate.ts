import { describeError } from '../../../fault.ts';
import type { Message, ToolDefinition } from '../../../dialog.ts';
import { compileTemplate, strftimeAt, type SpecialTokens, type RenderTemplate } from './jinja.ts';

/** How a model's chat template writes messages: only such as it accepts, in the order in which it wants them. */
export interface ChatTemplate {
  /** The template itself (Jinja). */
  readonly source: string;
  /** Whether the template itself has a place for tools. */
  readonly supportsTools: boolean;
  /** Why the file's own template is not used; undefined: it is. */
  readonly fallbackReason: string | undefined;
  /** Where system messages are written as such. */
  readonly system: 'anywhere' | 'first' | 'nowhere';
  /** What a person should know: why the file's own template is not used, or which messages it refuses. */
  readonly notes: readonly string[];
  /** The messages in a shape that the template accepts. */
  normalizeMessages(messages: readonly Message[]): readonly Message[];
  readonly render: RenderTemplate;
}

const chatmlTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** The layout of a chat template (Jinja source), or ChatML where there is none that works. */
export function probeChatTemplate(source: string | undefined, ends: SpecialTokens): ChatTemplate {
  if (source === undefined) return chatmlFallback(ends, 'the file has no chat template');
  const clock = { strftime_now: strftimeAt(new Date()) };
  const failures: string[] = [];
  // What some templates cannot do without; the first that works is the one closest to how they are meant to be used.
  for (const extras of [{}, clock, { ...clock, tools: [] }]) {
    try {
      const render = compileTemplate(source, ends, extras);
      if (render([ask]).includes(ask.text)) return createChatTemplate(source, render);
      failures.push("it leaves the user's message out");
    } catch (error) {
      failures.push(describeError(error));
    }
  }
  return chatmlFallback(ends, `the file's chat template does not work (${failures[0]})`);
}

const chatmlFallback = (ends: SpecialTokens, why: string): ChatTemplate =>
  createChatTemplate(chatmlTemplate, compileTemplate(chatmlTemplate, ends), why);

const rule: Message = { role: 'system', text: 'Probe of a rule.' };
const ask: Message = { role: 'user', text: 'Probe of a question.' };
const answer: Message = { role: 'assistant', text: 'Probe of an answer.' };
const lateRule: Message = { role: 'system', text: 'Probe of a later rule.' };
const lateAsk: Message = { role: 'user', text: 'Probe of a later question.' };
const tool: ToolDefinition = {
  type: 'function',
  function: {
    name: 'probe_of_a_tool',
    description: 'Probe of what it does.',
    parameters: { type: 'object', properties: { probe: { type: 'string' } }, required: ['probe'] },
  },
};

function createChatTemplate(source: string, render: RenderTemplate, fallbackReason?: string): ChatTemplate {
  const accepts = (...messages: readonly Message[]): boolean => rendersAll(render, messages);
  const system = accepts(rule, ask);
  const anywhere = system && accepts(rule, ask, answer, lateRule, lateAsk) && accepts(ask, lateRule);
  const doubled = accepts(rule, ask, lateAsk) && accepts(ask, answer, answer, lateAsk);
  const answerFirst = accepts(answer, ask);
  const fit = (messages: readonly Message[]): readonly Message[] => {
    const known = anywhere ? messages : messages.map((message, at) => (system && at === 0 ? message : asUser(message)));
    const prefix =
      answerFirst || known[0]?.role !== 'assistant' ? known : [{ role: 'user' as const, text: '' }, ...known];
    return doubled && anywhere ? prefix : mergeAdjacent(prefix);
  };
  const notes = fallbackReason === undefined ? [] : [`${fallbackReason}, so prompts are written as ChatML`];
  if (!system) notes.push("the model's chat template knows no system message: it is written as the user's");
  else if (!anywhere)
    notes.push("the model's chat template has one system message, the first: later ones are the user's");
  const where = anywhere ? 'anywhere' : system ? 'first' : 'nowhere';
  return {
    source,
    supportsTools: rendersTools(render),
    fallbackReason,
    system: where,
    notes,
    normalizeMessages: fit,
    render,
  };
}

function rendersTools(render: RenderTemplate): boolean {
  try {
    const text = render([ask], [tool]);
    return text.includes(tool.function.name) && text.includes(ask.text);
  } catch {
    return false;
  }
}

// Some templates refuse what they do not know with an error, others leave it out without a word.
function rendersAll(render: RenderTemplate, messages: readonly Message[]): boolean {
  try {
    const text = render(messages);
    return messages.every((message) => text.includes(message.text));
  } catch {
    return false;
  }
}

const asUser = (message: Message): Message =>
  message.role === 'system' ? { role: 'user', text: message.text } : message;

function mergeAdjacent(messages: readonly Message[]): readonly Message[] {
  const whole: Message[] = [];
  for (const message of messages) {
    const last = whole.at(-1);
    const words = last && !last.toolExchange && !message.toolExchange;
    if (words && last.role === message.role)
      whole[whole.length - 1] = { ...last, text: `${last.text}\n\n${message.text}` };
    else whole.push(message);
  }
  return whole;
}
