import type { GenerateOptions, FinishReason } from '../contract/engine.ts';
import { tagsOf, type ReplyMarks } from '../../chat/replyMarks.ts';
import type { ScriptedReply } from './script.ts';
import { countText, truncate } from './tokens.ts';
import { waitMs } from './waitMs.ts';
import { untilAborted } from '../../base/abort.ts';
import { untilResumed, TokenThrottle } from '../contract/pace.ts';
import { StopStringFilter } from '../decoding/stopStrings.ts';

/** The result of a mock generation. */
export interface MockGeneration {
  readonly text: string;
  /** The same with the control tokens that `text` leaves out. */
  readonly rawText: string;
  readonly finishReason: FinishReason;
  /** When the first text was emitted (performance.now()); 0 = no text. */
  readonly firstTextAt: number;
}

/** Generates a scripted reply chunk by chunk, as a model would, up to its limit, a stop string or the abort signal. */
export async function generateReply(
  reply: ScriptedReply,
  options: GenerateOptions,
  { maxTokens, replyMarks }: { readonly maxTokens: number; readonly replyMarks: ReplyMarks },
): Promise<MockGeneration> {
  const { signal, onText, backpressure, sampling, controlTokens, pace } = options;
  const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
  const tags = tagsOf(replyMarks);
  const shown = Array.isArray(controlTokens) ? [...tags, ...(controlTokens as readonly string[])] : tags;
  const isHidden = (control: string): boolean => controlTokens !== true && !shown.some((tag) => tag.includes(control));
  const fullAnswer = reply.answer.replace(controlTokenPattern, (control) => (isHidden(control) ? '' : control));
  // A recorded answer was cut where its model ended it: its tokens are not those of this engine.
  const answer = reply.finish === undefined ? truncate(fullAnswer, maxTokens) : fullAnswer;
  const stopFilter = new StopStringFilter(sampling.stop);
  let text = '';
  let firstTextAt = 0;
  const send = (piece: string): void => {
    if (piece === '') return;
    firstTextAt ||= performance.now();
    text += piece;
    onText?.(piece);
  };
  const sendChunks = async (): Promise<FinishReason> => {
    for (const chunk of chunks(answer, reply.chunk)) {
      await waitMs(reply.delay_ms, signal);
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal);
      await untilResumed(pace, signal);
      while (throttle.waitMs() > 0 && !signal.aborted) {
        await throttle.untilDue(signal);
        await untilResumed(pace, signal);
      }
      if (signal.aborted) return 'aborted';
      throttle.spend(countText(chunk));
      send(stopFilter.push(chunk));
      if (stopFilter.matched) return 'stop';
    }
    return reply.finish ?? (answer === fullAnswer ? 'end' : 'length');
  };
  const finishReason = await sendChunks();
  send(stopFilter.flush());
  const rawText = rawBeginning(reply.answer, text.length, isHidden);
  return { text, rawText, finishReason, firstTextAt };
}

// Control tokens of a scripted answer, as real vocabularies write them. Those that mark its parts are always text.
const controlTokenPattern = /<\|[^<>|]*\|>|\[TOOL_CALLS\]/g;

/** The beginning of an answer of which so many characters are shown. */
function rawBeginning(answer: string, shown: number, isHidden: (control: string) => boolean): string {
  let end = shown;
  for (const { index, 0: control } of answer.matchAll(controlTokenPattern)) {
    if (index > end) break;
    if (isHidden(control)) end += control.length;
  }
  return answer.slice(0, end);
}

function chunks(text: string, size: number): readonly string[] {
  if (size === 0) return text.match(/\S*\s+|\S+/g) ?? [];
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}
