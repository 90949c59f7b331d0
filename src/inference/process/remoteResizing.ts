import type { SlotResizing } from '../contract/memory.ts';
import type { EnginePeer } from './remoteStateFiles.ts';

/** The resizing of the model, as an engine process sees it: the server process has the memory budget and the log. */
export const remoteResizing = (peer: EnginePeer): SlotResizing => ({
  requestMemory: (use) => peer.request('requestMemory', { use }).result,
  onResized: (stats) => peer.tell('resized', { stats }),
});
