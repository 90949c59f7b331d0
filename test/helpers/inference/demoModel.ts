import { fileURLToPath } from 'node:url';
import {
  getLlama,
  LlamaGrammarEvaluationState,
  type ControlledEvaluateInputItem,
  type Llama,
  type LlamaContext,
  type LlamaContextSequence,
  type LlamaModel,
  type Token,
} from 'node-llama-cpp';
import { commonPrefixLength } from '../../../src/base/commonPrefix.ts';
import { type SamplingParams, defaultSampling } from '../../../src/inference/contract/samplingParams.ts';
import { hookBatches } from '../../../src/inference/llama/nativePatches.ts';
import { drawSeeds } from '../../../src/inference/llama/sampling/drawSeeds.ts';
import { watchCandidates } from '../../../src/inference/llama/sampling/candidates.ts';
import { samplingOptions } from '../../../src/inference/llama/sampling/samplingOptions.ts';
import { createTokenBiases } from '../../../src/inference/llama/sampling/samplingOptions.ts';
import { Tokenizer } from '../../../src/inference/decoding/tokenizer.ts';
import { tokenProbabilities } from '../../../src/inference/llama/sequence.ts';

const file = fileURLToPath(new URL('../../../models/turngraph-demo.gguf', import.meta.url));

/** What a request of a test server asks for. */
export interface DemoRequest {
  readonly prompt: readonly Token[];
  readonly maxTokens: number;
  readonly sampling: Partial<SamplingParams>;
  /** What is added to the logits of tokens. */
  readonly biases: readonly (readonly [Token, number])[];
  /** In GBNF. */
  readonly grammar?: string;
}

/** One slot of a test server: a sequence of the demo model. One request runs in it at a time. */
export class DemoSlot {
  readonly isChoosing = true;
  readonly #sequence: LlamaContextSequence;
  readonly #model: DemoModel;
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;
  /** The most probable tokens where the last one was generated, likeliest first. */
  candidates: ReadonlyMap<Token, number> | undefined;

  constructor(sequence: LlamaContextSequence, model: DemoModel) {
    this.#sequence = sequence;
    this.#model = model;
  }

  /** Runs work after all that came before. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    this.#pending++;
    const result = this.#last.then(work, work).finally(() => this.#pending--);
    this.#last = result.catch(() => undefined);
    return result;
  }

  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** The length of the part of a prompt that the cache holds. */
  shared(prompt: readonly Token[]): number {
    return commonPrefixLength(this.#sequence.contextTokens, prompt);
  }

  /** Makes the cache hold the part of a prompt that it shares; returns its length. At least one token is left. */
  async reuse(prompt: readonly Token[]): Promise<number> {
    const start = Math.min(commonPrefixLength(this.#sequence.contextTokens, prompt), prompt.length - 1);
    const end = this.#sequence.nextTokenIndex;
    if (start < end) await this.#sequence.eraseContextTokenRanges([{ start, end }]);
    return start;
  }

  /** Evaluates a prompt. */
  async prefill(prompt: readonly Token[], reused: number): Promise<void> {
    await this.#sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(reused));
  }

  /** The probability of a token after a prompt. */
  async probability(prompt: readonly Token[], reused: number, token: Token): Promise<number> {
    const tokens = prompt.slice(reused);
    const wanted = tokens.map((_, index) => (index === tokens.length - 1 ? [token] : undefined));
    const results = await tokenProbabilities(this.#sequence, tokens, wanted);
    return results.at(-1)?.get(token) ?? 0;
  }

  /** The probabilities of all tokens after a prompt. */
  async allProbabilities(prompt: readonly Token[], reused: number): Promise<ReadonlyMap<Token, number>> {
    const input = prompt.slice(reused).map((token, index, { length }): ControlledEvaluateInputItem =>
      index < length - 1
        ? token
        : [
            token,
            {
              generateNext: { probabilities: true, options: { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 1 } },
            },
          ],
    );
    const results = await this.#sequence.controlledEvaluate(input);
    return results.at(-1)?.next.probabilities ?? new Map<Token, number>();
  }

  /** Generates tokens, the end of generation token included. */
  async *generate(request: DemoRequest, reused: number): AsyncGenerator<Token> {
    const { prompt, maxTokens, grammar } = request;
    const { weights: model, tokenizer } = this.#model;
    const context = [...prompt];
    const sampling = { ...defaultSampling, ...request.sampling };
    const dryBiases = createTokenBiases({ ...sampling, logit_bias: {} }, tokenizer);
    const biases = (tokens: readonly Token[]): Map<Token, number> => {
      const sums = new Map(request.biases);
      for (const [token, bias] of dryBiases?.(tokens) ?? []) sums.set(token, (sums.get(token) ?? 0) + bias);
      return sums;
    };
    const state = grammar === undefined ? undefined : await this.#model.grammar(grammar);
    const stopCandidates = watchCandidates(this.#sequence, this);
    const stop = drawSeeds(sampling.seed)(this.#sequence);
    try {
      const tokens = this.#sequence.evaluate(prompt.slice(reused), {
        ...samplingOptions(sampling, context, model, biases),
        ...(state && { grammarEvaluationState: state }),
        yieldEogToken: true,
      });
      let count = 0;
      for await (const token of tokens) {
        context.push(token);
        yield token;
        if (++count >= maxTokens) return;
      }
    } finally {
      stop();
      stopCandidates();
    }
  }
}

/** The demo model, as the llama.cpp engine runs it, for test servers that speak other APIs. */
export class DemoModel implements AsyncDisposable {
  readonly weights: LlamaModel;
  readonly tokenizer: Tokenizer;
  readonly slots: readonly DemoSlot[];
  readonly #llama: Llama;
  readonly #context: LlamaContext;

  private constructor(llama: Llama, weights: LlamaModel, context: LlamaContext) {
    this.#llama = llama;
    this.weights = weights;
    this.tokenizer = new Tokenizer(weights);
    this.#context = context;
    this.slots = Array.from({ length: context.totalSequences }, () => new DemoSlot(context.getSequence(), this));
  }

  static async load(slots: number, contextSize: number): Promise<DemoModel> {
    const llama = await getLlama({ build: 'never', gpu: false });
    const weights = await llama.loadModel({ modelPath: file });
    const context = await weights.createContext({ sequences: slots, contextSize, threads: 1, flashAttention: true });
    // Without it a sequence samples from the logits of another one, now and then.
    hookBatches(context, { onStart: () => undefined, onEnd: () => undefined });
    return new DemoModel(llama, weights, context);
  }

  async grammar(gbnf: string): Promise<LlamaGrammarEvaluationState> {
    const grammar = await this.#llama.createGrammar({ grammar: gbnf });
    return new LlamaGrammarEvaluationState({ model: this.weights, grammar });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.dispose();
    await this.weights.dispose();
    await this.#llama.dispose();
  }
}
