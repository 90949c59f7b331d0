import { samplingColumn, samplingSchema } from '../../inference/contract/samplingParams.ts';
import type { FromSchema, Schema } from '../../protocol/schema.ts';
import { closedObject, partialObject, string } from '../../protocol/schemaBuilders.ts';

const functionSchema = closedObject(['name'], {
  name: { type: 'string' },
  description: { type: 'string', default: '' },
  parameters: { type: 'object', default: { type: 'object', properties: {} } },
  strict: { type: 'boolean', default: false },
});

const callSchema = closedObject(['id', 'type', 'function'], {
  id: { type: 'string', minLength: 1 },
  type: { type: 'string', enum: ['function'] },
  index: { type: 'integer', minimum: 0 },
  function: closedObject(['name', 'arguments'], {
    name: { type: 'string', minLength: 1 },
    arguments: { type: 'string' },
    parsed_arguments: { description: 'What a client has parsed of `arguments`; it is not read.' },
  }),
});

const messageSchema = closedObject(['role'], {
  role: { type: 'string', enum: ['system', 'developer', 'user', 'assistant', 'tool'] },
  content: { description: 'A text, or a list of text parts.' },
  name: string({ minLength: 1, maxLength: 64 }, 'Who speaks; of a result, its function.'),
  tool_calls: { type: 'array', items: callSchema, default: [] },
  tool_call_id: { type: 'string' },
  parsed: { description: 'What a client has parsed of `content`; it is not read.' },
});

const unread = {
  user: { description: 'It is not read.' },
  safety_identifier: { description: 'It is not read.' },
  prompt_cache_key: { description: 'It is not read: the longest common prefix finds its slot.' },
  prompt_cache_retention: { description: 'It is not read.' },
  store: { description: 'It is not read: nothing is stored.' },
  metadata: { description: 'It is not read.' },
  service_tier: { description: 'It is not read.' },
  verbosity: { description: 'It is not read.' },
} as const satisfies Readonly<Record<string, Schema>>;

/** JSON Schema of the body of POST /v1/chat/completions; values that mean the same as an absent field are removed before. */
export const requestSchema = closedObject(['model', 'messages'], {
  model: { type: 'string', minLength: 1 },
  messages: { type: 'array', minItems: 1, items: messageSchema },
  tools: {
    type: 'array',
    default: [],
    items: closedObject(['type', 'function'], {
      type: { type: 'string', enum: ['function'] },
      function: functionSchema,
    }),
  },
  tool_choice: {
    anyOf: [
      { type: 'string', enum: ['none', 'auto', 'required'] },
      {
        ...closedObject(['type', 'function'], {
          type: { type: 'string', enum: ['function'] },
          function: closedObject(['name'], { name: { type: 'string' } }),
        }),
        description: 'the object of a function to call',
      },
    ],
  },
  parallel_tool_calls: { type: 'boolean', default: true },
  response_format: closedObject(['type'], {
    type: { type: 'string', enum: ['text', 'json_object', 'json_schema'] },
    json_schema: closedObject(['schema'], {
      name: { type: 'string' },
      description: { type: 'string' },
      schema: { type: 'object' },
      strict: { type: 'boolean' },
    }),
  }),
  stream: { type: 'boolean', default: false },
  stream_options: { ...partialObject({ include_usage: { type: 'boolean', default: false } }), default: {} },
  ...samplingColumn('schema', 'api'),
  temperature: { type: 'number', minimum: 0, maximum: 2 },
  max_tokens: { type: 'integer', minimum: 1 },
  max_completion_tokens: { type: 'integer', minimum: 1 },
  seed: { type: 'integer' },
  stop: {
    anyOf: [{ ...samplingSchema.properties.stop.items, description: 'a string' }, samplingSchema.properties.stop],
  },
  reasoning_effort: string('none: the model does not reason; any other: it may.'),
  chat_template_kwargs: {
    ...partialObject(
      { enable_thinking: { type: 'boolean' } },
      'As of llama-server; it counts before reasoning_effort.',
    ),
    default: {},
  },
  ...unread,
});

export type CompletionRequest = FromSchema<typeof requestSchema>;
export type RequestMessage = FromSchema<typeof messageSchema>;
