import type { Embeddings } from '../../inference/contract/model.ts';
import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { purposeProblem } from '../../inference/models/catalogue/catalogue.ts';
import { createReader, type FromSchema } from '../../protocol/schema.ts';
import { closedObject } from '../../protocol/schemaBuilders.ts';
import type { ServerContext } from '../session/session.ts';
import { type ApiError, invalidBody, invalidField, unwrapBody } from './apiError.ts';

/** Max texts of one request, as OpenAI has it. */
const maxTexts = 2048;

const embeddingsSchema = closedObject(['model', 'input'], {
  model: { type: 'string', minLength: 1 },
  input: { description: 'A text, or a list of texts.' },
  encoding_format: { type: 'string', enum: ['float', 'base64'], default: 'float' },
  dimensions: { type: 'integer', minimum: 1 },
  user: { type: 'string', description: 'It is not read.' },
});

type EmbeddingsRequest = FromSchema<typeof embeddingsSchema>;

const readFields = createReader(embeddingsSchema);

/**
 * The body of the response of POST /v1/embeddings.
 * @throws ApiError for a field that cannot be used, the Fault of a model that cannot be loaded, the reason of the signal.
 */
export async function createEmbeddings(
  body: unknown,
  { pools: { 'llama-cpp': pool } }: Pick<ServerContext, 'pools'>,
  signal: AbortSignal,
): Promise<object> {
  const { model: name, input, encoding_format: encoding, dimensions } = readRequest(body);
  const texts = readInput(input);
  const problem = purposeProblem(pool.entry(name), 'embedding', pool.catalogue);
  if (problem !== undefined) throw invalidField('model', problem, 'invalid_value');
  await using lease = await pool.lease(name, { signal });
  const { embedding, embed } = lease.model;
  if (!embedding || !embed) throw invalidField('model', `"${name}" is run by an engine without embeddings`);
  if (dimensions !== undefined && dimensions !== embedding.dimensions)
    throw invalidField(
      'dimensions',
      `must be ${embedding.dimensions}, as "${name}" has it: its vectors are not cut; leave it out`,
      'invalid_value',
    );
  const { vectors, tokens } = await embed.call(lease.model, texts, { signal }).catch(explainLongText);
  const prompt_tokens = tokens.reduce((sum, count) => sum + count, 0);
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector, encoding) })),
    model: name,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  };
}

function readRequest(body: unknown): EmbeddingsRequest {
  if (!isObject(body)) throw invalidBody('must be a JSON object, with model and input');
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  return unwrapBody(readFields(given), embeddingsSchema);
}

function readInput(input: unknown): readonly string[] {
  const invalid = (param: string, message: string): ApiError => invalidField(param, message, 'invalid_value');
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (list.length === 0) throw invalid('input', 'must not be empty');
  if (list.length > maxTexts) throw invalid('input', `has ${list.length} texts, and ${maxTexts} are allowed`);
  return list.map((text, index) => {
    const param = Array.isArray(input) ? `input[${index}]` : 'input';
    if (typeof text === 'number' || Array.isArray(text))
      throw invalid('input', 'has token ids, which are those of another tokenizer; send texts');
    if (typeof text !== 'string') throw invalid(param, 'must be a text');
    if (text === '') throw invalid(param, 'must not be empty');
    return text;
  });
}

function encode(vector: Float32Array, encoding: EmbeddingsRequest['encoding_format']): readonly number[] | string {
  if (encoding === 'float') return [...vector];
  const bytes = Buffer.alloc(4 * vector.length);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, 4 * index);
  return bytes.toString('base64');
}

function explainLongText(error: unknown): Embeddings {
  if (!(error instanceof Fault) || error.name !== 'PROMPT_TOO_LARGE') throw error;
  throw invalidField('input', error.message, 'context_length_exceeded');
}
