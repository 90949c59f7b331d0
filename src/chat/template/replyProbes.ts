import { commonPrefixLength } from '../../base/commonPrefix.ts';
import type { RenderTemplate, TemplateInput, TemplateMessage } from './templateInput.ts';

/** A reply of several parts, as a template writes it; all texts start after the question of the user. */
export interface ReplyProbes {
  /** The beginning of all replies, to where the model goes on. */
  readonly header: string;
  /** What follows the question in prompts: as it is, with reasoning turned on, and off. */
  readonly prompts: readonly string[];
  readonly answer: {
    /** The text before an answer. */
    readonly before: string;
    /** The text after it that belongs to the answer, and not to the end of the turn. */
    readonly close: string;
  };
  /** A reply with reasoning; undefined: the template leaves reasoning out. */
  readonly reasoned: ReasonedProbe | undefined;
}

interface ReasonedProbe {
  readonly before: string;
  readonly after: string;
  /** The text between the reasoning and the answer; undefined: the template writes reasoning only before calls. */
  readonly beforeAnswer: string | undefined;
}

// They occur in no template.
const question = 'zqQuestion';
const answer = 'zqAnswer';
const thought = 'zqThought';
const next = 'zqNextQuestion';

const ask: TemplateMessage = { role: 'user', content: question };
const reply: TemplateMessage = { role: 'assistant', content: answer };
const call = {
  id: 'zqCall001',
  type: 'function',
  function: { name: 'zqTool', arguments: { zqKey: 'zqValue' } },
} as const;

/** The keys under which templates look for the reasoning of a message. */
const reasoningKeys = ['reasoning_content', 'reasoning', 'thinking', 'thought'] as const;

const switches = ['enable_thinking', 'thinking', 'reasoning'] as const;
const switched = (on: boolean): Readonly<Record<string, unknown>> =>
  Object.fromEntries(switches.map((name) => [name, on]));

/** Renders small conversations that differ in one thing; undefined for a template that refuses the simplest of them. */
export function renderReplyProbes(render: RenderTemplate): ReplyProbes | undefined {
  const tail = (input: TemplateInput): string | undefined => {
    try {
      const text = render(input);
      const at = text.lastIndexOf(question);
      return at < 0 ? undefined : text.slice(at + question.length);
    } catch {
      return undefined;
    }
  };
  const history = (...messages: readonly TemplateMessage[]): string | undefined =>
    tail({ messages: [ask, ...messages], addGenerationPrompt: false });
  const prompts = [{}, switched(true), switched(false)].flatMap(
    (variables) => tail({ messages: [ask], variables }) ?? [],
  );
  const [before, after] = splitAt(history(reply), answer) ?? [];
  if (prompts.length === 0 || before === undefined || after === undefined) return undefined;
  const reasoned = renderReasoned(history);
  const [prompt = '', ...switchedPrompts] = prompts;
  const texts = [before, prompt, ...(reasoned ? [reasoned.before] : [])];
  const header = commonHeader([...texts, ...switchedPrompts.filter((text) => hasHeader(text, commonHeader(texts)))]);
  const [, afterMiddle = after] = splitAt(history(reply, { role: 'user', content: next }), answer) ?? [];
  return {
    header,
    prompts: prompts.filter((text) => text.startsWith(header)),
    answer: { before, close: answerClose(afterMiddle, header) },
    reasoned,
  };
}

function renderReasoned(history: (message: TemplateMessage) => string | undefined): ReasonedProbe | undefined {
  for (const key of reasoningKeys) {
    const [before, after] = splitAt(history({ ...reply, [key]: thought }), thought) ?? [];
    // Reasoning after the answer would be none.
    if (before !== undefined && after !== undefined && !before.includes(answer))
      return { before, after, beforeAnswer: splitAt(after, answer)?.[0] };
  }
  // Many templates write reasoning only in the middle of a turn: before a call.
  for (const key of reasoningKeys) {
    const message: TemplateMessage = { role: 'assistant', content: '', [key]: thought, tool_calls: [call] };
    const [before, after] = splitAt(history(message), thought) ?? [];
    if (before !== undefined && after !== undefined) return { before, after, beforeAnswer: undefined };
  }
  return undefined;
}

/** The common beginning of texts, cut before a tag in which they begin to differ. */
function commonHeader(texts: readonly string[]): string {
  const [first = '', ...others] = texts;
  const length = Math.min(first.length, ...others.map((text) => commonPrefixLength(first, text)));
  const header = first.slice(0, length);
  const tagStart = header.lastIndexOf('<');
  return tagStart > header.lastIndexOf('>') ? header.slice(0, tagStart) : header;
}

/** Whether a text has the header, but for the tag at its end. Some templates turn reasoning off within the question. */
function hasHeader(text: string, header: string): boolean {
  const length = commonPrefixLength(text, header);
  return length > 0 && /^\s*(?:<[^<>\s]*>?)?\s*$/.test(header.slice(length));
}

/** The text after an answer to the tag with which each turn ends, that of the user included. */
function answerClose(after: string, header: string): string {
  const endOfTurn = /<[^<>\s]+>/.exec(header)?.[0];
  const end = endOfTurn === undefined ? -1 : after.indexOf(endOfTurn);
  return end < 0 ? '' : after.slice(0, end).trim();
}

function splitAt(text: string | undefined, mark: string): readonly [string, string] | undefined {
  const at = text?.indexOf(mark) ?? -1;
  return text === undefined || at < 0 ? undefined : [text.slice(0, at), text.slice(at + mark.length)];
}
