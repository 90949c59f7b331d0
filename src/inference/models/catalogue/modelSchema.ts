import { modelPurposes } from '../../contract/model.ts';
import { gpuChoices } from '../../contract/engine.ts';
import { hubUrlPattern } from '../../download/target.ts';
import { closedObject, type ObjectSchema } from '../../../protocol/schema.ts';
import { samplingSchema } from '../../contract/samplingParams.ts';

const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;

/** JSON Schema of a LoRA adapter of a variant. */
const loraSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    file: {
      type: 'string',
      minLength: 1,
      maxLength: 1000,
      description: 'A GGUF file of your own, relative to the catalogue; absent = it is downloaded from url.',
    },
    url: {
      type: 'string',
      maxLength: 1000,
      pattern: hubUrlPattern,
      description:
        'https://huggingface.co/OWNER/NAME/resolve/REVISION/FILE.gguf, from where it is downloaded; absent = it is file.',
    },
    scale: {
      type: 'number',
      minimum: -10,
      maximum: 10,
      default: 1,
      description: 'What its changes are multiplied by; 0 = none.',
    },
    sha256: { ...sha256, description: 'Hash of the file; absent = as the repository reports.' },
    size_bytes: { type: 'integer', minimum: 1, description: 'Size of the file; absent = as the repository reports.' },
  },
} as const satisfies ObjectSchema;

const urlSchema = {
  type: 'string',
  pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
  maxLength: 500,
  description: 'http://HOST:PORT, without a name, a password or a query',
} as const;

/** Properties of a variant for the engine `http`: where the model is served, and how. */
export const remoteProperties = {
  api: {
    type: 'string',
    enum: ['llama-server', 'openai'],
    description:
      'Engine http: the API of the inference servers; openai: completions as vLLM and SGLang have them; absent = the model is a file.',
  },
  base_url: {
    anyOf: [urlSchema, { type: 'array', minItems: 1, maxItems: 64, items: urlSchema }],
    description:
      'Engine http: the address of the inference server; a list = several that serve the same model; absent = the model is a file.',
  },
  model: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    description: 'Engine http: the name of the model on the server; absent = it serves one.',
  },
  api_key_env: {
    type: 'string',
    pattern: '^[A-Za-z_][A-Za-z0-9_]{0,99}$',
    description: 'Engine http: the environment variable that has the API key; absent = none is sent.',
  },
  chat_template: {
    type: 'string',
    minLength: 1,
    description:
      'Engine http: file with the chat template (Jinja), relative to the catalogue; absent = the one that the server has. The api openai needs it.',
  },
} as const;

/** JSON Schema of one variant of a model: the files for one engine and how to load them, or where it is served. */
export const variantSchema = closedObject(['engine'], {
  engine: {
    type: 'string',
    enum: ['llama-cpp', 'http'],
    description: 'What runs it: llama-cpp = this server, from files; http = inference servers on other machines.',
  },
  ...remoteProperties,
  local_path: {
    type: 'string',
    minLength: 1,
    description: 'Folder of the files, relative to the catalogue; absent = they are downloaded.',
  },
  huggingface_repo: {
    type: 'string',
    pattern: '^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}$',
    description: 'Where the files can be downloaded: OWNER/NAME; absent = nowhere.',
  },
  revision: {
    type: 'string',
    pattern: '^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9_./-]{0,199}$',
    default: 'main',
    description: 'Branch, tag or commit of the repository.',
  },
  files: {
    type: 'array',
    default: [],
    maxItems: 100,
    items: {
      type: 'string',
      maxLength: 200,
      // Path traversal check: relative, with / as separator, never out of its folder. The same on every operating system.
      pattern: '^(?!/)(?!(?:.*/)?\\.{0,2}(?:/|$))[^\\\\:\\u0000-\\u001f]+$',
      description: 'The path of a file inside its folder or repository, without "..", "\\" or ":".',
    },
    description: 'File names; the first one is loaded. The engine llama-cpp needs at least one.',
  },
  context_size: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description:
      'Tokens; 0 = 8192, or what the model was trained with if that is less; for the engine http: what the server has.',
  },
  kv_cache_type: {
    type: 'string',
    enum: ['f16', 'q8_0', 'q4_0'],
    default: 'f16',
    description:
      'Type of the KV cache (precision of the context in memory); q8_0 and q4_0 take less, and are experimental.',
  },
  kv_bytes_per_token: {
    type: 'integer',
    minimum: 1,
    description:
      'Bytes of an f16 KV cache per token, for `models suggest` until the file is on disk; absent = not known.',
  },
  gpu: {
    type: 'string',
    enum: gpuChoices,
    description: 'What it runs on; absent = as --gpu of the server, whose off holds for all models.',
  },
  gpu_layers: {
    anyOf: [
      { type: 'integer', minimum: 0 },
      { type: 'string', enum: ['auto'] },
    ],
    description: 'Layers on the graphics card: a number, or auto for as many as fit; absent = as --gpu-layers.',
  },
  sha256: {
    ...sha256,
    description: 'Hash of the file, where it is a single one; absent = as the repository reports.',
  },
  size_bytes: {
    type: 'integer',
    minimum: 1,
    description: 'Size of all files together; absent = as the repository reports.',
  },
  lora: {
    type: 'array',
    minItems: 1,
    maxItems: 16,
    items: loraSchema,
    description: 'LoRA adapters, which change the weights of the model; absent = none.',
  },
  license: { type: 'string', default: '', description: 'License of the weights.' },
});

const prefix = { type: 'string', maxLength: 1000, default: '' } as const;

/** JSON Schema of one model in models.json. */
export const modelSchema = closedObject(['name', 'variants'], {
  name: { type: 'string', minLength: 1, maxLength: 200, description: 'Unique; used everywhere.' },
  description: { type: 'string', maxLength: 1000, default: '', description: 'What it is good for.' },
  tool_call_format: {
    type: 'string',
    default: '',
    description:
      'Tool-call format that the model was trained on; "" = the one that its chat template proves; native = the layout that is read off the template.',
  },
  default_sampling: samplingSchema,
  purpose: {
    type: 'string',
    enum: modelPurposes,
    default: 'chat',
    description: 'chat = it generates text; embedding = it computes vectors of texts, for searches.',
  },
  embedding: {
    type: 'object',
    additionalProperties: false,
    properties: {
      query_prefix: { ...prefix, description: 'Text before each query, as the model was trained; "" = none.' },
      document_prefix: { ...prefix, description: 'Text before each text to find; "" = none.' },
    },
    description: 'Of an embedding model: how its texts are written; absent = as they are.',
  },
  variants: {
    type: 'array',
    minItems: 1,
    items: variantSchema,
    description: 'Files of the model; the first that an engine can run is used.',
  },
});
