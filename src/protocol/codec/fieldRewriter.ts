import type { FieldShape } from '../frames.gen.ts';
import { bodiesOf, fieldsOf, type Fields, type MessageName } from './messageShape.ts';
import type { Envelope } from './frame.ts';

/** A change of some fields of a message before it is encoded. */
export interface FieldChange {
  /** Whether fields of this shape are changed. */
  matches(shape: FieldShape): boolean;
  /** The changed value of such a field. */
  apply(shape: FieldShape, value: unknown): unknown;
}

type Rewrite = (message: Fields) => Fields;

/**
 * Builds the rewriters of an envelope, by body name. Bodies without a matching field are not in the map: they are
 * encoded without a copy, which keeps streamed text cheap.
 */
export function rewriters(envelope: Envelope, change: FieldChange): ReadonlyMap<string, Rewrite> {
  const rewriterByBody = new Map<string, Rewrite>();
  for (const [body, message] of bodiesOf(envelope)) {
    const rewrite = rewriter(message, change);
    if (rewrite) rewriterByBody.set(body, rewrite);
  }
  return rewriterByBody;
}

function rewriter(name: MessageName, change: FieldChange): Rewrite | undefined {
  const fields = fieldsOf(name).flatMap(([key, shape]) => {
    const rewriteItem = itemRewriter(shape, change);
    if (!rewriteItem) return [];
    const rewriteList = (list: unknown): unknown => (list as readonly unknown[]).map(rewriteItem);
    return [{ key, rewriteField: shape.repeated ? rewriteList : rewriteItem }];
  });
  if (fields.length === 0) return undefined;
  return (message) => {
    const copy: Record<string, unknown> = { ...message };
    for (const { key, rewriteField } of fields) if (copy[key] !== undefined) copy[key] = rewriteField(copy[key]);
    return copy;
  };
}

function itemRewriter(shape: FieldShape, change: FieldChange): ((value: unknown) => unknown) | undefined {
  const rewriteMessage = 'message' in shape ? rewriter(shape.message, change) : undefined;
  const isMatch = change.matches(shape);
  if (!rewriteMessage && !isMatch) return undefined;
  return (value) => {
    const rewritten = rewriteMessage && value !== null ? rewriteMessage(value as Fields) : value;
    return isMatch ? change.apply(shape, rewritten) : rewritten;
  };
}
