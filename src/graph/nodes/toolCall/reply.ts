import { type ParsedReply, parseReply, type ParseReplyOptions } from '../../../chat/reply/parseReply.ts';
import type { ToolCallFormat } from '../../../chat/tool.ts';
import { type CallConstraint, isAllowed } from './callConstraint.ts';
import type { Turn } from '../../compile/turn.ts';
import type { CompletionOptions } from '../inference.ts';
import { StreamableText, type StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';

/** Parses a reply. Where answers are JSON, what looks like a call that no tool allows is the answer. */
export async function readReply(
  text: string,
  format: ToolCallFormat,
  options: ParseReplyOptions,
  constraint: CallConstraint,
): Promise<ParsedReply> {
  if (!constraint.answer) return parseReply(text, format, options);
  const reply = parseReply(text, format, { ...options, isJson: true });
  for (const call of reply.calls)
    if (!(await isAllowed(call, constraint)))
      return parseReply(text, format, { isJson: true, ...(options.marks && { marks: options.marks }) });
  return reply;
}

export type ReplyText = ReturnType<typeof replyText>;

/**
 * Sends the text of one reply of a node: as deltas while it is generated, or at its end.
 * @param isLater whether another reply of the node has sent a text in this turn: this one begins a line.
 * @param streamed what the streamed text must not have; undefined: it is not streamed.
 */
export function replyText(turn: Turn, isLater: boolean, streamed: StreamableTextOptions | undefined) {
  const stream = streamed && new StreamableText(streamed);
  let separator = isLater ? '\n' : '';
  const say = (text: string, kind: 'delta' | 'whole'): void => {
    if (text === '') return;
    turn.say(separator + text, kind);
    separator = '';
  };
  return {
    /** Takes a piece of the reply. */
    push(piece: string): void {
      if (stream) say(stream.push(piece), 'delta');
    },
    /** Sends a piece of an answer that is no reply with calls. */
    pass: (piece: string): void => say(piece, 'delta'),
    /** Sends what remains of the answer. */
    end(answer: string): void {
      if (stream) say(stream.rest(answer), 'delta');
      else say(answer, 'whole');
    },
  };
}

// A sentence may precede a call.
const maxCharacters = 80;

/** Ends a reply that goes on as prose, with a line of it or a long sentence: only whether it calls counts. */
export function proseLimit(options: StreamableTextOptions): Pick<CompletionOptions, 'onText' | 'stopSignal'> {
  const text = new StreamableText(options);
  const stop = new AbortController();
  let prose = '';
  return {
    stopSignal: stop.signal,
    onText(piece) {
      prose += text.push(piece);
      if (prose.length > maxCharacters || prose.includes('\n')) stop.abort();
    },
  };
}
