import { LlamaGrammarEvaluationState, type LlamaModel } from 'node-llama-cpp';
import type { GrammarMatcher } from '../../../tools/grammar/matcher.ts';
import { toGbnf } from './gbnf.ts';

/** Every call passes through the same choices of its grammar; those of all tools in use fit in here. */
const maxCachedGrammars = 128;

/** LRU cache of a model's grammars as llama.cpp has parsed them, by their GBNF text. */
export class GrammarCache {
  readonly #model: LlamaModel;
  /** Initial states, least recently used first. */
  readonly #states = new Map<string, LlamaGrammarEvaluationState>();

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** A new evaluation state that accepts what may follow at a matcher's position. */
  async stateFor(matcher: GrammarMatcher): Promise<LlamaGrammarEvaluationState> {
    const gbnf = toGbnf(matcher);
    const initialState = this.#states.get(gbnf) ?? (await this.#parse(gbnf));
    this.#states.delete(gbnf);
    this.#states.set(gbnf, initialState);
    for (const leastRecent of this.#states.keys()) {
      if (this.#states.size <= maxCachedGrammars) break;
      this.#states.delete(leastRecent);
    }
    return initialState.clone();
  }

  async #parse(grammar: string): Promise<LlamaGrammarEvaluationState> {
    const model = this.#model;
    return new LlamaGrammarEvaluationState({ model, grammar: await model.llama.createGrammar({ grammar }) });
  }
}
