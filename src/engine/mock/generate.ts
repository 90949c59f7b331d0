import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerateOptions, FinishReason } from '../engine.ts';
import type { ScriptedReply } from './script.ts';
import { truncate } from './tokens.ts';
import { untilAborted } from '../../abort.ts';
import { StopStringFilter } from '../stopStrings.ts';

/** What became of a reply. */
export interface MockGeneration {
  readonly text: string;
  readonly stopped: FinishReason;
  /** When the first text came (performance.now()); 0 = none did. */
  readonly first: number;
}

/** Writes a reply chunk by chunk, as a model would: at most so many tokens, up to a stop string or the signal. */
export async function generateReply(reply: ScriptedReply, options: GenerateOptions, tokens: number): Promise<MockGeneration> {
  const { signal, onText, backpressure, sampling, controlTokens } = options;
  const whole = controlTokens ? reply.answer : reply.answer.replace(controlStrings, '');
  const answer = truncate(whole, tokens);
  const stops = new StopStringFilter(sampling.stop);
  let text = '';
  let first = 0;
  const send = (piece: string): void => {
    if (piece === '') return;
    first ||= performance.now();
    text += piece;
    onText?.(piece);
  };
  const ended = async (): Promise<FinishReason> => {
    for (const chunk of chunks(answer, reply.chunk)) {
      await delay(reply.delay_ms, signal);
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal);
      if (signal.aborted) return 'aborted';
      send(stops.push(chunk));
      if (stops.matched) return 'stop';
    }
    return answer === whole ? 'end' : 'length';
  };
  const stopped = await ended();
  send(stops.flush());
  return { text, stopped, first };
}

// What counts as a control token in a scripted answer: the spellings that real vocabularies have.
const controlStrings = /<\|[^<>|]*\|>|\[TOOL_CALLS\]/g;

function chunks(text: string, size: number): readonly string[] {
  if (size === 0) return text.match(/\S*\s+|\S+/g) ?? [];
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}

async function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds === 0) return;
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
