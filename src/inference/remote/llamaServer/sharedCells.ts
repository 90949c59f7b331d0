import { raceAbort } from '../../../base/abort.ts';
import { Listeners, onAbort, onceAny } from '../../../base/events.ts';
import type { InferenceServer } from '../inferenceServer.ts';

/**
 * A llama-server whose slots share the cells of one KV cache (`--kv-unified`). Where those are used up it ends all requests, so
 * one that may need more than are left waits here, in order. It chooses the slots itself: the prompts of idle ones are in its
 * own cache, and only where no slot is named are they looked for there.
 */
export function sharingCells(server: InferenceServer): InferenceServer {
  const given = new Listeners();
  let size = 0;
  let taken = 0;
  let last: Promise<unknown> = Promise.resolve();
  const fits = (cells: number): boolean => taken === 0 || taken + cells <= size;
  /** Whether they were taken: not once the signal is aborted. */
  const take = async (cells: number, before: Promise<unknown>, signal: AbortSignal): Promise<boolean> => {
    await before;
    while (!fits(cells) && !signal.aborted) await onceAny(given.add, onAbort(signal));
    if (signal.aborted) return false;
    taken += cells;
    return true;
  };
  const giveBack = async (cells: number, taking: Promise<boolean>): Promise<void> => {
    if (await taking) taken -= cells;
    given.call();
  };
  return {
    ...server,
    async props(signal) {
      const props = await server.props(signal);
      size = props.contextSize;
      return props;
    },
    async *complete(request, signal) {
      const cells = request.prompt.length + request.maxTokens;
      const taking = take(cells, last, signal);
      last = taking;
      try {
        await raceAbort(taking, signal);
        return yield* server.complete({ ...request, slot: anySlot }, signal);
      } finally {
        void giveBack(cells, taking);
      }
    },
  };
}

const anySlot = -1;
