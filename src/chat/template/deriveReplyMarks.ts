import { commonPrefixLength } from '../../base/commonPrefix.ts';
import { type RenderTemplate, type TemplateInput, type TemplateMessage, unlessRefused } from './templateInput.ts';
import type { MarkPair, ReasoningMarks, ReplyMarks } from '../replyMarks.ts';
import { defaultReplyMarks, hasTag, leadingTag } from '../replyMarks.ts';

/**
 * Reads the marks of a reply off a chat template: what it writes around the reasoning and the text of an assistant's
 * message. A template that writes no reasoning has known marks in its source, or the default ones.
 * @param source of the model's file.
 * @param render the template that is used: it can be another one, where that of the file does not work.
 */
export function deriveReplyMarks(source: string, render: RenderTemplate): ReplyMarks {
  const probes = renderReplyProbes(render);
  const own = (probes && (marksAroundReasoning(probes) ?? marksInPrompt(probes))) ?? marksInSource(source);
  const answer = probes && marksAroundAnswer(probes, own);
  const header = answer && own && headerMarks(own.open, answer.open);
  const others = header ? [] : defaultReplyMarks.reasoning.filter(({ open }) => open !== own?.open);
  if (!own) return { reasoning: others, answer, restart: '', header };
  // What stands between reasoning and answer, without the answer's own mark.
  const answerOpen = answer && own.ending.includes(answer.open) ? own.ending.lastIndexOf(answer.open) : undefined;
  const ending = own.ending.slice(0, answerOpen);
  const restart = ending.slice(ending.indexOf(own.close) + own.close.length).trim();
  return { reasoning: [{ ...own, ending }, ...others], answer, restart, header };
}

function marksAroundReasoning({ header, prompts, reasoned }: ReplyProbes): ReasoningMarks | undefined {
  if (!reasoned) return undefined;
  const { before, after, beforeAnswer } = reasoned;
  const close = leadingTag(after.trimStart()) || (beforeAnswer?.trim() ?? '');
  // Where all prompts open the reasoning, the opening mark is in what they have in common.
  const opened = prompts.map((prompt) => prompt.slice(header.length).trim()).find((text) => text !== '');
  const open = before.slice(header.length).trim() || (openAtEnd(header, close) ?? opened ?? '');
  if (close === '' || open === '' || open === close) return undefined;
  return { open, close, ending: beforeAnswer ?? endingIn(after, close) };
}

function marksInPrompt({ header, prompts }: ReplyProbes): ReasoningMarks | undefined {
  for (const prompt of prompts) {
    const text = prompt.slice(header.length);
    const first = leadingTag(text.trimStart());
    const isClose = openAtEnd(header, first) !== undefined;
    const afterOpen = isClose ? text : text.slice(text.indexOf(first) + first.length);
    const close = leadingTag(afterOpen.trimStart());
    const open = openOf(close);
    if (open !== undefined && (isClose || open === first))
      return { open, close, ending: endingIn(afterOpen.replace(/^\n+/, '\n'), close) };
  }
  return undefined;
}

function endingIn(text: string, close: string): string {
  const end = text.indexOf(close) + close.length;
  return text.slice(0, end) + (/^\s*/.exec(text.slice(end))?.[0] ?? '');
}

const knownPairs: readonly MarkPair[] = [
  ...defaultReplyMarks.reasoning,
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '<thinking>', close: '</thinking>' },
  { open: '<|START_THINKING|>', close: '<|END_THINKING|>' },
  { open: '<|channel>thought', close: '<channel|>' },
  { open: 'Here are my reasoning steps:', close: '[BEGIN FINAL RESPONSE]' },
];

function marksInSource(source: string): ReasoningMarks | undefined {
  const known = knownPairs.find(({ close }) => source.includes(close));
  return known && { ...known, ending: `\n${known.close}\n\n` };
}

function marksAroundAnswer({ header, answer }: ReplyProbes, reasoning: MarkPair | undefined): MarkPair | undefined {
  const written = answer.before.slice(header.length);
  const reasoningEnd = reasoning ? written.lastIndexOf(reasoning.close) : -1;
  const text = reasoning && reasoningEnd >= 0 ? written.slice(reasoningEnd + reasoning.close.length) : written;
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return { open: hasTag(trimmed) ? trimmed : text.trimStart(), close: answer.close };
}

/** Two opening marks that differ in a word between the same two tags are headers. */
function headerMarks(reasoning: string, answer: string): MarkPair | undefined {
  const open = leadingTag(reasoning);
  const close = /<[^<>\s]+>$/.exec(reasoning)?.[0] ?? '';
  const isHeader = (text: string): boolean => text.length > open.length + close.length && text.endsWith(close);
  if (open === '' || close === '' || leadingTag(answer) !== open) return undefined;
  return isHeader(reasoning) && isHeader(answer) ? { open, close } : undefined;
}

/** The opening mark of a closing one: `<think>` of `</think>`, `[THINK]` of `[/THINK]`. */
const openOf = (close: string): string | undefined =>
  /^[<[]\//.test(close) ? close.slice(0, 1) + close.slice(2) : undefined;

function openAtEnd(header: string, close: string): string | undefined {
  const open = openOf(close);
  return open !== undefined && header.trimEnd().endsWith(open) ? open : undefined;
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

const reasoningKeys = ['reasoning_content', 'reasoning', 'thinking', 'thought'] as const;
const switches = ['enable_thinking', 'thinking', 'reasoning'] as const;
const switched = (on: boolean): Readonly<Record<string, unknown>> =>
  Object.fromEntries(switches.map((name) => [name, on]));

/** A reply of several parts, as a template writes it; all texts start after the question of the user. */
type ReplyProbes = NonNullable<ReturnType<typeof renderReplyProbes>>;

/** Renders small conversations that differ in one thing; undefined for a template that refuses the simplest of them. */
function renderReplyProbes(render: RenderTemplate) {
  const tail = (input: TemplateInput): string | undefined => {
    const text = unlessRefused(() => render(input));
    return text?.includes(question) ? text.slice(text.lastIndexOf(question) + question.length) : undefined;
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
    /** The beginning of all replies, to where the model goes on. */
    header,
    /** What follows the question in prompts: as it is, with reasoning turned on, and off. */
    prompts: prompts.filter((text) => text.startsWith(header)),
    /** `close`: the text after it that belongs to the answer, and not to the end of the turn. */
    answer: { before, close: answerClose(afterMiddle, header) },
    reasoned,
  };
}

/** A reply with reasoning; undefined: the template leaves reasoning out. */
function renderReasoned(history: (message: TemplateMessage) => string | undefined) {
  // Many templates write reasoning only in the middle of a turn: before a call.
  const messages = [reply, { ...reply, content: '', tool_calls: [call] }].flatMap((message) =>
    reasoningKeys.map((key) => ({ ...message, [key]: thought })),
  );
  for (const message of messages) {
    const [before, after] = splitAt(history(message), thought) ?? [];
    // Reasoning after the answer would be none.
    if (before === undefined || after === undefined || before.includes(answer)) continue;
    // Undefined where the template writes reasoning only before calls.
    const [beforeAnswer] = splitAt(after, answer) ?? [];
    return { before, after, beforeAnswer };
  }
  return undefined;
}

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
  return length > 0 && /^\s*(?:<[^<>\s]*>?\s*)?$/.test(header.slice(length));
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
