// What llama.cpp is really given: every token of a prompt, after templates, caches and restored states have had their say.

/**
 * Listens in on all sequences of node-llama-cpp in this process; `tell` gets
 * - `{ kind: 'evaluated', prompt, tokens }` after a generation: what the cache holds, and how many of it were the prompt;
 * - `{ kind: 'restored', tokens }` after a state was read from a file, `{ kind: 'saved', tokens }` after one was written.
 * Gives a function that ends it.
 */
export function eavesdrop(prototype, tell) {
  const { evaluate, loadStateFromFile, saveStateToFile } = prototype;
  const held = (sequence) => [...sequence.contextTokens];

  prototype.evaluate = async function* (tokens, options) {
    const prompt = this.contextTokens.length + tokens.length;
    try {
      return yield* evaluate.call(this, tokens, options);
    } finally {
      if (!this.disposed) tell({ kind: 'evaluated', prompt, tokens: held(this) });
    }
  };
  prototype.loadStateFromFile = async function (...given) {
    await loadStateFromFile.apply(this, given);
    tell({ kind: 'restored', tokens: held(this) });
  };
  prototype.saveStateToFile = async function (...given) {
    const saved = await saveStateToFile.apply(this, given);
    tell({ kind: 'saved', tokens: held(this) });
    return saved;
  };
  return () => Object.assign(prototype, { evaluate, loadStateFromFile, saveStateToFile });
}
