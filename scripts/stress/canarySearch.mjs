// Searches answers, prompts, KV states and the prompt cache for canaries of other agents.

/**
 * The canaries of an agent.
 * @typedef {object} AgentCanaries
 * @property {string} name In the system prompt of its graph, which other agents may have, too.
 * @property {string} guest The value of a variable in the system prompt.
 * @property {string} word What its user says.
 */

/** Searches texts for canaries of other agents; counts the agent's own ones too, without which the search proves nothing. */
export class CanarySearch {
  figures = { ownInAnswers: 0, prompts: 0, restored: 0, saved: 0, stateFiles: 0, promptFiles: 0 };
  faults = [];
  #agents;
  #all;
  #names;

  /** @param {readonly AgentCanaries[]} agents */
  constructor(agents) {
    this.#agents = agents.map(({ name, guest, word }) => [name, guest, word]);
    this.#names = agents.map(({ name }) => name);
    this.#all = [...new Set(this.#agents.flat())];
  }

  fail(fault) {
    this.faults.push(fault);
  }

  /** @param {AgentCanaries} own */
  checkAnswer({ name, guest, word }, answer) {
    const found = this.#canariesIn(answer);
    const others = found.filter((canary) => ![name, guest, word].includes(canary));
    if (found.length > others.length) this.figures.ownInAnswers++;
    if (others.length > 0) this.fail(`the answer to ${word} contains ${others.join(', ')}: ${answer}`);
  }

  /** @returns {number} how many of the traces are of restored states. */
  checkTraces(records, reader) {
    for (const { kind, tokens } of records) {
      this.figures[{ evaluated: 'prompts', restored: 'restored', saved: 'saved' }[kind]]++;
      const text = reader.text(tokens);
      const found = this.#canariesIn(text);
      // An evaluated context begins with the system message, so it contains canaries of its agent.
      const isRight = this.#areOfOneAgent(found) && (kind !== 'evaluated' || found.length > 0);
      if (!isRight) this.fail(`${kind} with ${found.length} canaries (${found.join(', ')}): ${text}`);
    }
    return records.filter(({ kind }) => kind === 'restored').length;
  }

  checkStateFile(text) {
    this.figures.stateFiles++;
    const found = this.#canariesIn(text);
    if (!this.#areOfOneAgent(found))
      this.fail(`a state file with canaries of several agents (${found.join(', ')}): ${text}`);
  }

  /** The prompt cache has text of graphs only: what a user says and the values of variables are in none of its files. */
  checkPromptFile(text, path) {
    this.figures.promptFiles++;
    const found = this.#canariesIn(text);
    const wrong = found.filter((canary) => !this.#names.includes(canary));
    if (wrong.length > 0) this.fail(`${path} of the prompt cache has ${wrong.join(', ')}: ${text}`);
    if (!this.#areOfOneAgent(found)) this.fail(`${path} of the prompt cache has several agents (${found.join(', ')})`);
  }

  result(turns) {
    const { ownInAnswers, prompts } = this.figures;
    if (prompts === 0) this.fail('no prompt was traced, so the test proves nothing');
    if (ownInAnswers < turns / 10)
      this.fail(`agents wrote their own canaries only ${ownInAnswers} times, so the test proves little`);
    return { ok: this.faults.length === 0, figures: { turns, ...this.figures }, faults: this.faults };
  }

  #areOfOneAgent(canaries) {
    return this.#agents.some((own) => canaries.every((canary) => own.includes(canary)));
  }

  #canariesIn(text) {
    const lower = text.toLowerCase();
    return this.#all.filter((canary) => lower.includes(canary.toLowerCase()));
  }
}
