import { escapePattern } from '../../../base/patterns.ts';
import type { TextRange } from '../../../chat/markSearch.ts';
import type { DetectedCall } from '../../../chat/tool.ts';
import type { Completion } from '../../../inference/contract/engine.ts';
import type { ModelLease } from '../../../inference/models/pool/lease.ts';
import type { NodeContext } from '../../compile/node.ts';
import type { ToolCallParams } from './toolCallParams.ts';
import { thoughtName } from './toolDeclarations.ts';

/**
 * Calls of a text with their confidence: the probability of the name and the arguments together. Absent where those of the
 * tokens are not known.
 */
export function withConfidence(
  calls: readonly DetectedCall[],
  { text, choices }: Pick<Completion, 'text' | 'choices'>,
): readonly DetectedCall[] {
  if (!choices) return calls;
  // From the last one on, because reasoning may have the text of a call, too.
  let until = text.length;
  const measured = calls.toReversed().map((call) => {
    const before = text.slice(0, until).lastIndexOf(call.raw);
    // Mended calls stand at the end of the list, and those of one block have its text.
    const found = before < 0 ? text.lastIndexOf(call.raw) : before;
    if (before >= 0) until = before;
    const start = Math.max(0, found);
    const end = found < 0 ? text.length : start + call.raw.length;
    const written = text.slice(start, end);
    const parts = partsOf(written, call);
    const counts = (choice: TextRange): boolean =>
      parts.some((part) => choice.start < start + part.end && choice.end > start + part.start);
    return {
      ...call,
      confidence: choices.filter(counts).reduce((product, { probability }) => product * probability, 1),
    };
  });
  return measured.reverse();
}

/** Warns where the least confidence has no effect, because the model does not tell how probable a call is. */
export function warnOfConfidence(
  { min_confidence: least }: ToolCallParams,
  { model }: ModelLease,
  { nodeName, warn }: NodeContext,
): void {
  const { confidence: problem } = model.limits ?? {};
  if (least > 0 && problem !== undefined)
    warn(`${nodeName}.params.min_confidence has no effect, and all calls are sent: ${problem}; remove it`);
}

/** Where the name of a call, and each of its arguments with its key, are in the text of the call. */
function partsOf(text: string, { name, arguments: args }: DetectedCall): readonly TextRange[] {
  const nameStart = Math.max(0, text.indexOf(name));
  const nameEnd = nameStart + name.length;
  const keys = [...args.keys()];
  const startsAfter = (offset: number): readonly number[] => {
    let from = offset;
    return keys.map((key) => {
      const start = from < 0 ? from : indexOfWord(text, key, from);
      from = start < 0 ? start : endOfText(text, args.get(key), start);
      return start;
    });
  };
  const starts = [startsAfter(nameEnd), startsAfter(0)].find((found) => !found.includes(-1));
  if (!starts) return [{ start: 0, end: text.length }];
  const values = starts.map((start, index) => ({ start, end: starts[index + 1] ?? text.length }));
  return [{ start: nameStart, end: nameEnd }, ...values.filter((_, index) => keys[index] !== thoughtName)];
}

/** Where a value ends that is a text, which may have words that are keys; `from` where it is not found. */
function endOfText(text: string, value: unknown, from: number): number {
  const written = typeof value === 'string' ? JSON.stringify(value).slice(1, -1) : '';
  const start = text.indexOf(written, from);
  return start < 0 ? from : start + written.length;
}

function indexOfWord(text: string, word: string, from: number): number {
  const found = new RegExp(`(?<!\\w)${escapePattern(word)}(?!\\w)`, 'g');
  found.lastIndex = from;
  return found.exec(text)?.index ?? -1;
}
