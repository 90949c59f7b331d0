import { modelPurposes } from '../../contract/model.ts';
import { gpuChoices } from '../../contract/engine.ts';
import { hubUrlPattern } from '../../download/target.ts';
import { array, closedObject, integer, number, partialObject, string } from '../../../protocol/schemaBuilders.ts';
import { samplingSchema } from '../../contract/samplingParams.ts';

const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;

const loraSchema = partialObject({
  file: string(
    { minLength: 1, maxLength: 1000 },
    'A GGUF file of your own, relative to the catalogue; absent = it is downloaded from url.',
  ),
  url: string(
    { maxLength: 1000, pattern: hubUrlPattern },
    'https://huggingface.co/OWNER/NAME/resolve/REVISION/FILE.gguf, from where it is downloaded; absent = it is file.',
  ),
  scale: number({ minimum: -10, maximum: 10, default: 1 }, 'What its changes are multiplied by; 0 = none.'),
  sha256: { ...sha256, description: 'Hash of the file, 64 of 0-9 a-f; absent = as the repository reports.' },
  size_bytes: integer({ minimum: 1 }, 'Size of the file; absent = as the repository reports.'),
});

const urlSchema = string(
  { pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$', maxLength: 500 },
  'http://HOST:PORT, without a name, a password or a query',
);

/** Properties of a variant for the engine `http`: where the model is served, and how. */
export const remoteProperties = {
  api: string(
    { enum: ['llama-server', 'openai'] },
    'Engine http: the API of the inference servers; openai: completions as vLLM and SGLang have them; absent = the model is a file.',
  ),
  base_url: {
    anyOf: [urlSchema, { type: 'array', minItems: 1, maxItems: 64, items: urlSchema }],
    description:
      'Engine http: the address of the inference server; a list = several that serve the same model; absent = the model is a file.',
  },
  model: string(
    { minLength: 1, maxLength: 200 },
    'Engine http: the name of the model on the server; absent = it serves one.',
  ),
  api_key_env: string(
    { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$' },
    'Engine http: the environment variable that has the API key; absent = none is sent.',
  ),
  chat_template: string(
    { minLength: 1 },
    'Engine http: file with the chat template (Jinja), relative to the catalogue; absent = the one that the server has. The api openai needs it.',
  ),
} as const;

/** JSON Schema of one variant of a model: the files for one engine and how to load them, or where it is served. */
export const variantSchema = closedObject(['engine'], {
  engine: string(
    { enum: ['llama-cpp', 'llama-server', 'http'] },
    'What runs it: llama-cpp = this server, from files; llama-server = the binary of --llama-server, from files; http = inference servers on other machines.',
  ),
  ...remoteProperties,
  local_path: string({ minLength: 1 }, 'Folder of the files, relative to the catalogue; absent = they are downloaded.'),
  huggingface_repo: string(
    { pattern: '^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$' },
    'Where the files can be downloaded: OWNER/NAME; absent = nowhere.',
  ),
  revision: string(
    { pattern: '^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9_./-]{0,199}$', default: 'main' },
    'Branch, tag or commit of the repository.',
  ),
  files: array(
    {
      default: [],
      maxItems: 100,
      uniqueItems: true,
      items: string(
        {
          maxLength: 200,
          // Path traversal check: relative, with / as separator, never out of its folder. The same on every operating system.
          pattern: '^(?!/)(?!(?:.*/)?\\.{0,2}(?:/|$))[^\\\\:\\u0000-\\u001f]+$',
        },
        'The path of a file inside its folder or repository, without "..", "\\" or ":".',
      ),
    },
    'File names; the first one is loaded. The engine llama-cpp needs at least one.',
  ),
  server_args: array(
    { maxItems: 100, items: string({ maxLength: 1000 }, 'An argument.') },
    'Engine llama-server: more arguments of the binary, such as ["-md", "draft.gguf"]; absent = none.',
  ),
  context_size: integer(
    { minimum: 0, maximum: 4294967295, default: 0 },
    'Tokens; 0 = 8192, or what the model was trained with if that is less; for the engine http: what the server has.',
  ),
  kv_cache_type: string(
    { enum: ['f16', 'q8_0', 'q4_0'], default: 'f16' },
    'Type of the KV cache (precision of the context in memory); q8_0 and q4_0 take less, and are experimental.',
  ),
  kv_bytes_per_token: integer(
    { minimum: 1 },
    'Bytes of an f16 KV cache per token, for `models suggest` until the file is on disk; absent = not known.',
  ),
  gpu: string(
    { enum: gpuChoices },
    'What it runs on; absent = as --gpu of the server, whose off holds for all models.',
  ),
  gpu_layers: {
    anyOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', enum: ['auto'] },
    ],
    description: 'Layers on the graphics card: a number, or auto for as many as fit; absent = as --gpu-layers.',
  },
  sha256: {
    ...sha256,
    description: 'Hash of the file, 64 of 0-9 a-f, where it is a single one; absent = as the repository reports.',
  },
  size_bytes: integer({ minimum: 1 }, 'Size of all files together; absent = as the repository reports.'),
  lora: array(
    { minItems: 1, maxItems: 16, items: loraSchema },
    'LoRA adapters, which change the weights of the model; absent = none.',
  ),
  license: string({ default: '' }, 'License of the weights.'),
});

const prefix = { type: 'string', maxLength: 1000, default: '' } as const;

/** JSON Schema of one model in models.json. */
export const modelSchema = closedObject(['name', 'variants'], {
  name: string(
    { minLength: 1, maxLength: 200, pattern: '^[^\\p{Cc}\\u2028\\u2029]*$' },
    'Unique, in one line; used everywhere.',
  ),
  description: string({ maxLength: 1000, default: '' }, 'What it is good for.'),
  tool_call_format: string(
    { default: '' },
    'Tool-call format that the model was trained on; "" = the one that its chat template proves; native = the layout that is read off the template.',
  ),
  default_sampling: samplingSchema,
  purpose: string(
    { enum: modelPurposes, default: 'chat' },
    'chat = it generates text; embedding = it computes vectors of texts, for searches.',
  ),
  languages: string(
    { pattern: '^[a-z]{2,3}( [a-z]{2,3})*$', maxLength: 1000 },
    'Languages that it knows well: codes of ISO 639, such as "en de"; absent = not known.',
  ),
  min_tokens_per_second: number(
    { minimum: 0, default: 0 },
    'Lists of models pass it over on a machine where it was slower, as last measured; 0 = any speed is enough.',
  ),
  embedding: {
    ...partialObject({
      query_prefix: { ...prefix, description: 'Text before each query, as the model was trained; "" = none.' },
      document_prefix: { ...prefix, description: 'Text before each text to find; "" = none.' },
    }),
    description: 'Of an embedding model: how its texts are written; absent = as they are.',
  },
  variants: array(
    { minItems: 1, items: variantSchema },
    'Files of the model; the first that an engine can run is used.',
  ),
});
