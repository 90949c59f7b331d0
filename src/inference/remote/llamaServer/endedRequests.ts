import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '../../../base/jsonTypes.ts';
import type { InferenceServer } from '../inferenceServer.ts';

/**
 * A llama-server that only this process uses, and whose slots share one KV cache. It computes a request that was ended here until
 * it notices. What is asked for next waits for that: both together may need more cells than there are, or the same slot.
 */
export function afterEndedRequests(server: InferenceServer): InferenceServer {
  let open = 0;
  let isEnding = false;
  const isBusy = (slot: unknown): boolean => isObject(slot) && slot['is_processing'] === true;
  return {
    ...server,
    async *complete(request, signal) {
      for (; isEnding; await sleep(20, undefined, { signal })) {
        const slots = await server.connection.json({ path: '/slots', signal });
        isEnding = Array.isArray(slots) && slots.filter(isBusy).length > open;
      }
      let end;
      open++;
      try {
        return (end = yield* server.complete(request, signal));
      } finally {
        open--;
        isEnding ||= end === undefined;
      }
    },
  };
}
