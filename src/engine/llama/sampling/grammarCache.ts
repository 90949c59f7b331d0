import { LlamaGrammarEvaluationState, type LlamaModel } from 'node-llama-cpp';
import type { GrammarMatcher } from '../../../tools/grammar/matcher.ts';
import { toGbnf } from './gbnf.ts';

// Places where something is chosen come again with every call; those of the tools in use fit in here.
const maxCachedGrammars = 128;

/** The grammars of a model as llama.cpp reads them, remembered by what they say. */
export class GrammarCache {
  readonly #model: LlamaModel;
  readonly #states = new Map<string, LlamaGrammarEvaluationState>();

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** A state that accepts what may follow a place in a text. */
  async stateFor(matcher: GrammarMatcher): Promise<LlamaGrammarEvaluationState> {
    const grammar = toGbnf(matcher);
    const fresh = this.#states.get(grammar) ?? (await this.#parse(grammar));
    this.#states.delete(grammar);
    this.#states.set(grammar, fresh);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= maxCachedGrammars) break;
      this.#states.delete(oldest);
    }
    return fresh.clone();
  }

  async #parse(grammar: string): Promise<LlamaGrammarEvaluationState> {
    const model = this.#model;
    return new LlamaGrammarEvaluationState({ model, grammar: await model.llama.createGrammar({ grammar }) });
  }
}
