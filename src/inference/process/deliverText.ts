import { untilAborted } from '../../base/abort.ts';
import type { GenerateOptions } from '../contract/engine.ts';
import type { RequestControl } from './peer.ts';

/** Delivers the text of a generation in another process. */
export interface TextDelivery {
  /** A piece has arrived. Does not throw. */
  push(piece: string): void;
  /** Sets how the generation is paused, resumed and aborted. */
  control(send: (control: RequestControl) => void): void;
  /** Resolves when all pieces are delivered. @throws what `onText` has thrown. */
  delivered(): Promise<void>;
  /** Delivers what has arrived, without backpressure. @throws what `onText` has thrown. */
  flush(): void;
}

/**
 * Applies backpressure to a generation in another process: pauses it there, and holds back the pieces that were on their
 * way. After an abort nothing is held back. When `onText` throws, the generation is aborted.
 */
export function deliverText({
  signal,
  backpressure,
  onText,
}: Pick<GenerateOptions, 'signal' | 'backpressure'> & { readonly onText: (piece: string) => void }): TextDelivery {
  const held: string[] = [];
  let send: (control: RequestControl) => void = () => undefined;
  let pause: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const deliver = (piece: string): void => {
    if (failure) return;
    try {
      onText(piece);
    } catch (error) {
      failure = { error };
      send('abort');
    }
  };
  const rethrow = (): void => {
    if (failure) throw failure.error;
  };
  const flush = (): void => held.splice(0).forEach(deliver);

  const holdBack = async (first: Promise<void>): Promise<void> => {
    send('pause');
    let wait: Promise<void> | undefined = first;
    do {
      if (wait) await untilAborted(wait, signal);
      const next = held.shift();
      if (next === undefined) break;
      deliver(next);
      wait = backpressure?.();
    } while (!signal.aborted);
    pause = undefined;
    flush();
    send('resume');
  };

  return {
    push(piece) {
      if (pause) return void held.push(piece);
      deliver(piece);
      const wait = failure ? undefined : backpressure?.();
      if (wait) pause = holdBack(wait).catch((error: unknown) => void (failure ??= { error }));
    },
    control: (sender) => (send = sender),
    async delivered() {
      await pause;
      rethrow();
    },
    flush() {
      flush();
      rethrow();
    },
  };
}
