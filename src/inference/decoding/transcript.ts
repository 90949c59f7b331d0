import type { Token } from 'node-llama-cpp';
import type { PromptPiece, Transcript } from '../contract/engine.ts';
import { endsMidCharacter } from './streamingDetokenizer.ts';
import type { Tokenizer } from './tokenizer.ts';
import type { RenderedPrompt } from './templateRenderer.ts';

/** A prompt with its tokens, and the tokens that were generated after it. */
export interface EvaluatedTokens {
  readonly prompt: readonly Token[];
  readonly generated: readonly Token[];
}

/** The transcript of a generation. Its text has no character that stayed incomplete, as the text that was emitted. */
export function createTranscript(
  rendered: RenderedPrompt,
  { prompt, generated }: EvaluatedTokens,
  tokenizer: Tokenizer,
): Transcript {
  const text = tokenizer.detokenize(generated, prompt.slice(-maxPrecedingTokens), true);
  return {
    prompt: promptPieces(rendered, addedBos(rendered, prompt, tokenizer)),
    text: endsMidCharacter(text) ? text.slice(0, -1) : text,
  };
}

/**
 * The control tokens that the chat template wrote, and the text between them.
 * @param bos the name of a BOS token that precedes them; "" = none.
 */
export function promptPieces({ text, controlSpans }: RenderedPrompt, bos: string): readonly PromptPiece[] {
  const pieces: PromptPiece[] = [{ text: bos, special: true }];
  let end = 0;
  for (const span of controlSpans) {
    pieces.push({ text: text.slice(end, span.start), special: false });
    pieces.push({ text: text.slice(span.start, span.end), special: true });
    end = span.end;
  }
  pieces.push({ text: text.slice(end), special: false });
  return pieces.filter((piece) => piece.text !== '');
}

/** The name of the BOS token, where the prompt begins with one that the chat template has not written; else "". */
function addedBos({ text, controlSpans }: RenderedPrompt, prompt: readonly Token[], tokenizer: Tokenizer): string {
  const { bosToken } = tokenizer;
  if (bosToken === undefined || prompt[0] !== bosToken) return '';
  const bos = tokenizer.detokenize([bosToken], [], true);
  const isWritten = controlSpans[0]?.start === 0 && text.startsWith(bos);
  return isWritten ? '' : bos;
}

const maxPrecedingTokens = 3;
