import type { shapes } from '../../src/frames.gen.ts';
import type { clientCodecs, serverCodecs } from '../../src/wire/codec.ts';
import type { Envelope, Frames } from '../../src/wire/frame.ts';

interface Subject {
  readonly serverCodecs: Partial<typeof serverCodecs>;
  readonly clientCodecs: Partial<typeof clientCodecs>;
  readonly shapes: typeof shapes;
}

interface Run {
  readonly count: number;
  readonly seed: number;
}

export const name: 'frames';
export function fuzz(run: Run & { readonly log?: (line: string) => void }): Promise<void>;
export function hammer(subject: Subject, run: Run): { readonly frames: number; readonly faults: number };
export function randomFrame<E extends Envelope>(
  known: typeof shapes,
  envelope: E,
  random: () => number,
  body?: string,
): Frames[E];
