// Preload hook: turns flash attention off. On a CPU it sometimes accumulates in 16 bits, so that a probability depends on the
// other sequences of a batch (see docs/contribute/reliability.md).
import { isServerProcess } from '../hooks.mjs';

if (isServerProcess) {
  const { LlamaModel } = await import('node-llama-cpp');
  const { createContext } = LlamaModel.prototype;
  LlamaModel.prototype.createContext = function (options) {
    return createContext.call(this, { ...options, flashAttention: false });
  };
}
