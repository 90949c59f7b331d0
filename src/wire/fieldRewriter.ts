import type { FieldShape } from '../frames.gen.ts';
import { bodiesOf, fieldsOf, type Fields, type MessageName } from './messageShape.ts';
import type { Envelope } from './frame.ts';

/** A field-wise change of messages on their way out. */
export interface FieldChange {
  matches(shape: FieldShape): boolean;
  apply(shape: FieldShape, value: unknown): unknown;
}

type Rewrite = (message: Fields) => Fields;

/**
 * Rewrites the bodies of an envelope that a change concerns, by the name of their field. Bodies without such a field are
 * not in the map: they are encoded as they are, without a copy, which keeps streamed text cheap.
 */
export function rewriters(envelope: Envelope, change: FieldChange): ReadonlyMap<string, Rewrite> {
  const found = new Map<string, Rewrite>();
  for (const [body, message] of bodiesOf(envelope)) {
    const rewrite = rewriter(message, change);
    if (rewrite) found.set(body, rewrite);
  }
  return found;
}

function rewriter(name: MessageName, change: FieldChange): Rewrite | undefined {
  const steps = fieldsOf(name).flatMap(([key, shape]) => {
    const one = single(shape, change);
    return one ? [{ key, step: shape.repeated ? (list: unknown) => (list as readonly unknown[]).map(one) : one }] : [];
  });
  if (steps.length === 0) return undefined;
  return (message) => {
    const copy: Record<string, unknown> = { ...message };
    for (const { key, step } of steps) if (copy[key] !== undefined) copy[key] = step(copy[key]);
    return copy;
  };
}

function single(shape: FieldShape, change: FieldChange): ((value: unknown) => unknown) | undefined {
  const inner = 'message' in shape ? rewriter(shape.message, change) : undefined;
  const outer = change.matches(shape);
  if (!inner && !outer) return undefined;
  return (value) => {
    const rewritten = inner && value !== null ? inner(value as Fields) : value;
    return outer ? change.apply(shape, rewritten) : rewritten;
  };
}
