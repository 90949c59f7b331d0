// What the bare loop can be asked to measure. Milliseconds count from the moment that an operation begins to tokenise its
// prompt, or where there is none, to evaluate.

/** Generates behind a prompt in an empty sequence: as one would write it who wants nothing but the text, as it comes. */
export async function stream({ model, sequences: [sequence] }, { prompt, maxTokens }) {
  await sequence.clearHistory();
  return generated(model, sequence, prompt, maxTokens);
}

/** The same in all sequences at once; the library evaluates them together. */
export async function batch({ model, sequences }, { prompts, maxTokens }) {
  for (const sequence of sequences) await sequence.clearHistory();
  const start = performance.now();
  const all = await Promise.all(
    prompts.map((prompt, index) => generated(model, sequences[index], prompt, maxTokens, start)),
  );
  return { generated: all.reduce((sum, one) => sum + one.generated, 0), end: Math.max(...all.map(({ end }) => end)) };
}

/** Time until the first token behind `fresh`, where `prefix` is in the sequence already. */
export async function behind({ model, sequences: [sequence] }, { prefix, fresh }) {
  const held = model.tokenize(prefix, true);
  await sequence.adaptStateToTokens(held, false);
  const missing = held.slice(sequence.nextTokenIndex);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  const tokens = model.tokenize(fresh, true);
  const draws = sequence.evaluate(tokens, { temperature: 0 });
  await draws.next();
  const first = performance.now() - start;
  await draws.return();
  return { first, tokens: tokens.length };
}

/** Time of one chunk of prompt behind so many tokens. */
export async function chunk({ model, sequences: [sequence] }, { text, depth, size }) {
  const tokens = model.tokenize(text, false);
  if (tokens.length < depth + size) throw new RangeError(`the text has ${tokens.length} tokens, fewer than wanted`);
  await sequence.adaptStateToTokens(tokens.slice(0, depth), false);
  const missing = tokens.slice(sequence.nextTokenIndex, depth);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(depth, depth + size));
  return { ms: performance.now() - start };
}

/**
 * Time in which a text is sampled freely, token by token, behind a prompt that is in the sequence but for its last token.
 * A token is drawn for each of the text's, with all that costs, and the text's own is put in its place.
 */
export async function spelt({ model, sequences: [sequence] }, { prompt, text }) {
  const held = model.tokenize(prompt, true);
  const tokens = model.tokenize(text, true);
  const last = held.pop();
  await sequence.adaptStateToTokens(held, false);
  const missing = held.slice(sequence.nextTokenIndex);
  if (missing.length > 0) await sequence.evaluateWithoutGeneratingNewTokens(missing);
  const start = performance.now();
  const draws = sequence.evaluate([last], { temperature: 0, yieldEogToken: true });
  let before = [];
  for (const token of tokens) {
    await draws.next(before.length === 0 ? undefined : before);
    model.detokenize([token]);
    before = [token];
  }
  const end = performance.now() - start;
  await draws.return();
  return { end, tokens: tokens.length };
}

async function generated(model, sequence, prompt, maxTokens, start = performance.now()) {
  const tokens = model.tokenize(prompt, true);
  const at = { first: 0, last: 0 };
  const written = [];
  let text = '';
  for await (const token of sequence.evaluate(tokens, { temperature: 0 })) {
    const piece = model.detokenize([token], false, written.length > 0 ? written.slice(-3) : tokens.slice(-3));
    written.push(token);
    text += piece;
    at.last = performance.now() - start;
    at.first ||= at.last;
    if (written.length === maxTokens) break;
  }
  return { ...at, end: performance.now() - start, generated: written.length, prompt: tokens.length, text };
}
