// Operations of the baseline. Times are in milliseconds from the start of the prompt's tokenization, or without a prompt from
// the start of the evaluation.

/** Streams a generation in an empty sequence: the shortest loop that yields the text piece by piece. */
async function stream({ model, sequences: [sequence] }, { prompt, maxTokens }) {
  await sequence.clearHistory();
  return generateText(model, sequence, prompt, maxTokens);
}

/** The same in all sequences concurrently; the library batches them. */
async function batch({ model, sequences }, { prompts, maxTokens }) {
  for (const sequence of sequences) await sequence.clearHistory();
  const start = performance.now();
  const all = await Promise.all(
    prompts.map((prompt, index) => generateText(model, sequences[index], prompt, maxTokens, start)),
  );
  return { generated: all.reduce((sum, one) => sum + one.generated, 0), end: Math.max(...all.map(({ end }) => end)) };
}

/** Time to first token of the prompt `prefix` + `fresh`, with `prefix` in the KV cache. */
async function firstTokenAfterPrefix({ model, sequences: [sequence] }, { prefix, fresh }) {
  const held = model.tokenize(prefix, true);
  await sequence.adaptStateToTokens(held, false);
  const missing = held.slice(sequence.nextTokenIndex);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  const tokens = model.tokenize(fresh, true);
  const generation = sequence.evaluate(tokens, { temperature: 0 });
  await generation.next();
  const first = performance.now() - start;
  await generation.return();
  return { first, tokens: tokens.length };
}

/** Prefill time of `size` tokens after `depth` tokens in the KV cache. */
async function promptChunk({ model, sequences: [sequence] }, { text, depth, size }) {
  const tokens = model.tokenize(text, false);
  if (tokens.length < depth + size)
    throw new RangeError(`the text has ${tokens.length} tokens, fewer than depth + size`);
  await sequence.adaptStateToTokens(tokens.slice(0, depth), false);
  const missing = tokens.slice(sequence.nextTokenIndex, depth);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(depth, depth + size));
  return { ms: performance.now() - start };
}

/**
 * Time of sampling a text token by token without constraints, after a prompt that is in the KV cache except for its last
 * token. For each token of the text one is sampled, at full cost, and replaced by the text's own (teacher forcing).
 */
async function sampleText({ model, sequences: [sequence] }, { prompt, text }) {
  const held = model.tokenize(prompt, true);
  const tokens = model.tokenize(text, true);
  const last = held.pop();
  await sequence.adaptStateToTokens(held, false);
  const missing = held.slice(sequence.nextTokenIndex);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  const generation = sequence.evaluate([last], { temperature: 0, yieldEogToken: true });
  let replacement = [];
  for (const token of tokens) {
    await generation.next(replacement.length === 0 ? undefined : replacement);
    model.detokenize([token]);
    replacement = [token];
  }
  const end = performance.now() - start;
  await generation.return();
  return { end, tokens: tokens.length };
}

async function generateText(model, sequence, prompt, maxTokens, start = performance.now()) {
  const tokens = model.tokenize(prompt, true);
  const times = { first: 0, last: 0 };
  const output = [];
  let text = '';
  for await (const token of sequence.evaluate(tokens, { temperature: 0 })) {
    const piece = model.detokenize([token], false, output.length > 0 ? output.slice(-3) : tokens.slice(-3));
    output.push(token);
    text += piece;
    times.last = performance.now() - start;
    times.first ||= times.last;
    if (output.length === maxTokens) break;
  }
  return { ...times, end: performance.now() - start, generated: output.length, prompt: tokens.length, text };
}

/** The operations by name; each takes what `openContext` returns, and its options. */
export const operations = { stream, batch, firstTokenAfterPrefix, promptChunk, sampleText };
