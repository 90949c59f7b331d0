import {
  defaultReplyMarks,
  hasTag,
  leadingTag,
  type MarkPair,
  type ReasoningMarks,
  type ReplyMarks,
} from '../replyMarks.ts';
import { renderReplyProbes, type ReplyProbes } from './replyProbes.ts';
import type { RenderTemplate } from './templateInput.ts';

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

/** The marks of an empty block of reasoning, with which a prompt turns it off. */
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

/** The closing mark in a text that starts with it, with the white space around it. */
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

/** The opening mark of a closing one, if a header ends with it. */
function openAtEnd(header: string, close: string): string | undefined {
  const open = openOf(close);
  return open !== undefined && header.trimEnd().endsWith(open) ? open : undefined;
}
