const url = {
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
    anyOf: [url, { type: 'array', minItems: 1, maxItems: 64, items: url }],
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
