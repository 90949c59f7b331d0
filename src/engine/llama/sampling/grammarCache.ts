import { LlamaGrammarEvaluationState, type LlamaModel } from 'node-llama-cpp';
import type { Walk } from '../../../tools/grammar/matcher.ts';
import { gbnfOf } from './gbnf.ts';

// Places where something is chosen come again with every call; those of the tools in use fit in here.
const kept = 128;

/** The grammars of a model as llama.cpp reads them, remembered by what they say. */
export class Grammars {
  readonly #model: LlamaModel;
  readonly #fresh = new Map<string, LlamaGrammarEvaluationState>();

  constructor(model: LlamaModel) {
    this.#model = model;
  }

  /** A state that accepts what may follow a place in a text. */
  async at(walk: Walk): Promise<LlamaGrammarEvaluationState> {
    const grammar = gbnfOf(walk);
    const fresh = this.#fresh.get(grammar) ?? (await this.#read(grammar));
    this.#fresh.delete(grammar);
    this.#fresh.set(grammar, fresh);
    for (const oldest of this.#fresh.keys()) {
      if (this.#fresh.size <= kept) break;
      this.#fresh.delete(oldest);
    }
    return fresh.clone();
  }

  async #read(grammar: string): Promise<LlamaGrammarEvaluationState> {
    const model = this.#model;
    return new LlamaGrammarEvaluationState({ model, grammar: await model.llama.createGrammar({ grammar }) });
  }
}
