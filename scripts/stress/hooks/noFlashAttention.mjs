// Loaded into a server: its models attend without flash attention, which on a processor adds up in 16 bits at times, so
// that a probability depends on who else speaks (see docs/reliability.md).
import { isOfInterest } from '../hooks.mjs';

if (isOfInterest) {
  const { LlamaModel } = await import('node-llama-cpp');
  const { createContext } = LlamaModel.prototype;
  LlamaModel.prototype.createContext = function (options) {
    return createContext.call(this, { ...options, flashAttention: false });
  };
}
