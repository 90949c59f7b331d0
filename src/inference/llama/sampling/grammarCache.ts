import { LlamaGrammarEvaluationState, type LlamaModel } from 'node-llama-cpp';
import { LruCache } from '../../../base/lruCache.ts';
import type { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import { toGbnf } from '../../../chat/grammar/gbnf.ts';

/** Every call passes through the same choices of its grammar; those of all tools in use fit in here. */
const maxCachedGrammars = 128;
/** Characters of GBNF, together. A parsed grammar takes about three bytes for each. */
const maxCachedLength = 8_000_000;
/** llama.cpp copies a state by a search for each alternative. From this product on, it is faster to parse again. */
const maxCopyWork = 4_000_000;

type CreateState = () => LlamaGrammarEvaluationState;

/** LRU cache of a model's grammars as llama.cpp has parsed them, by their GBNF text. */
export type GrammarCache = ReturnType<typeof grammarCache>;

export function grammarCache(model: LlamaModel) {
  const states = new LruCache<CreateState>({ maxEntries: maxCachedGrammars, maxKeyLength: maxCachedLength });
  const parse = async (gbnf: string, alternatives: number): Promise<CreateState> => {
    const grammar = await model.llama.createGrammar({ grammar: gbnf });
    const createState: CreateState = () => new LlamaGrammarEvaluationState({ model, grammar });
    if (alternatives * gbnf.length > maxCopyWork) return createState;
    const initialState = createState();
    return () => initialState.clone();
  };
  return {
    /** A new evaluation state that accepts what may follow at a matcher's position. */
    async stateFor(matcher: GrammarMatcher): Promise<LlamaGrammarEvaluationState> {
      const gbnf = toGbnf(matcher);
      const known = states.get(gbnf);
      if (known) return known();
      const createState = await parse(gbnf, matcher.stacks.length);
      states.set(gbnf, createState);
      return createState();
    },
  };
}
