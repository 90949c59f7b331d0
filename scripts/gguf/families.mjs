// Tiny GGUF models of the reference model families: their special tokens, and chat templates of our own wording that render
// the same prompts.
import { readFileSync } from 'node:fs';
import { tinyGguf } from './gguf.mjs';
import { byteLevelVocab, sentencePieceVocab } from './vocabulary.mjs';

const template = (name) => readFileSync(new URL(`templates/${name}.jinja`, import.meta.url), 'utf8').trimEnd();

const qwen = {
  pre: 'qwen2',
  control: ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|object_ref_start|>', '<|object_ref_end|>'],
  userDefined: ['<tool_call>', '</tool_call>'],
  bos: 0,
  eos: 2,
};

const qwen3 = {
  ...qwen,
  userDefined: [...qwen.userDefined, '<tool_response>', '</tool_response>', '<think>', '</think>'],
};

const llama3 = {
  pre: 'llama-bpe',
  control: [
    '<|begin_of_text|>',
    '<|end_of_text|>',
    '<|start_header_id|>',
    '<|end_header_id|>',
    '<|eot_id|>',
    '<|eom_id|>',
    '<|python_tag|>',
  ],
  bos: 0,
  eos: 4,
  addBos: true,
};

const hermes = {
  ...llama3,
  control: [...llama3.control, '<|im_start|>', '<|im_end|>'],
  eos: llama3.control.length + 1,
};

const mistral = [
  '<s>',
  '</s>',
  '[INST]',
  '[/INST]',
  '[AVAILABLE_TOOLS]',
  '[/AVAILABLE_TOOLS]',
  '[TOOL_CALLS]',
  '[TOOL_RESULTS]',
  '[/TOOL_RESULTS]',
];

/**
 * @typedef {object} Family
 * @property {'chatml' | 'llama3' | 'mistral'} format The tool-call format.
 * @property {import('./gguf.mjs').TinyVocab} vocab
 * @property {string} chatTemplate
 */

/**
 * The reference families by name.
 * @type {ReadonlyMap<string, Family>}
 */
export const families = new Map([
  ['Qwen2.5 Instruct', { format: 'chatml', vocab: byteLevelVocab(qwen), chatTemplate: template('qwen2.5') }],
  ['Qwen3', { format: 'chatml', vocab: byteLevelVocab(qwen3), chatTemplate: template('qwen3') }],
  ['Llama 3.1 Instruct', { format: 'llama3', vocab: byteLevelVocab(llama3), chatTemplate: template('llama3.1') }],
  ['Llama 3.2 Instruct', { format: 'llama3', vocab: byteLevelVocab(llama3), chatTemplate: template('llama3.2') }],
  [
    'Mistral 7B Instruct v0.3',
    {
      format: 'mistral',
      vocab: sentencePieceVocab({ control: mistral, bos: 1, eos: 2, addBos: true }),
      chatTemplate: template('mistral-7b-v0.3'),
    },
  ],
  [
    'Mistral Nemo Instruct',
    {
      format: 'mistral',
      vocab: byteLevelVocab({ pre: 'tekken', control: ['<unk>', ...mistral], bos: 1, eos: 2, addBos: true }),
      chatTemplate: template('mistral-nemo'),
    },
  ],
  ['Hermes 2 Pro', { format: 'chatml', vocab: byteLevelVocab(hermes), chatTemplate: template('hermes2pro') }],
]);

/**
 * Creates a model of a family, as the bytes of a GGUF file.
 * @param {string} name
 * @param {Partial<import('./gguf.mjs').TinyModel>} [shape]
 * @returns {Buffer}
 * @throws {RangeError} For an unknown family.
 */
export function familyGguf(name, shape = {}) {
  const family = families.get(name);
  if (!family) throw new RangeError(`there is no family "${name}"; there are ${[...families.keys()].join(', ')}`);
  const { vocab, chatTemplate } = family;
  return tinyGguf({ name: `tiny ${name}`, vocab, chatTemplate, ...shape });
}
