import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxFrameBytes } from '../../protocol/frameSize.ts';
import { decodeUtf8 } from '../../base/filesystem.ts';
import { findJsonExcess, jsonExcesses, maxClientValues } from '../../base/jsonBounds.ts';
import { parseJson } from '../../base/jsonLocations.ts';
import { ApiError, invalidBody, invalidField, unwrapBody } from './apiError.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { createReader } from '../../protocol/schema.ts';
import { type CompletionRequest, requestSchema } from './requestSchema.ts';

const readFields = createReader(requestSchema);

/** Values of fields that mean the same as an absent field, as JSON; null always does. */
const neutralValues = new Map([
  ['n', '1'],
  ['logprobs', 'false'],
  ['top_logprobs', '0'],
  ['logit_bias', '{}'],
  ['modalities', '["text"]'],
]);

/** Reads the body of a request for a completion. @throws ApiError with status 400 that names the field */
export function readRequest(body: unknown): CompletionRequest {
  if (!isObject(body)) throw invalidBody('must be a JSON object, with model and messages');
  const fields = Object.fromEntries(
    Object.entries(body).filter(
      ([field, value]) => value !== null && JSON.stringify(value) !== neutralValues.get(field),
    ),
  );
  for (const field of Object.keys(fields)) {
    if (Object.hasOwn(requestSchema.properties, field)) continue;
    const neutral = neutralValues.get(field);
    const other = neutral === undefined ? '' : ` with another value than ${neutral}`;
    const hint =
      (neutral === undefined && didYouMean(field, Object.keys(requestSchema.properties))) || '; leave it out';
    throw invalidField(field, `is not supported${other}${hint}`, 'unsupported_parameter');
  }
  const request = unwrapBody(readFields({ ...fields, ...withoutNullMembers(fields) }), requestSchema);
  assertSupported(request);
  return request;
}

/** Clients write null for members of messages, functions and formats that they do not set. */
function withoutNullMembers({ messages, tools, response_format: format, stream_options }: Record<string, unknown>) {
  const clean = (value: unknown, ...inner: readonly string[]): unknown => {
    if (Array.isArray(value)) return value.map((item) => clean(item, ...inner));
    if (!isObject(value)) return value;
    const members = Object.entries(value).filter(([name, member]) => member !== null && !isEmptyMember(name, member));
    return Object.fromEntries(members.map(([name, member]) => [name, inner.includes(name) ? clean(member) : member]));
  };
  return {
    ...(messages !== undefined && { messages: clean(messages) }),
    ...(tools !== undefined && { tools: clean(tools, 'function') }),
    ...(format !== undefined && { response_format: clean(format, 'json_schema') }),
    ...(stream_options !== undefined && { stream_options: clean(stream_options) }),
  };
}

const emptyMembers: Readonly<Record<string, string>> = {
  annotations: '[]',
  refusal: '""',
  include_obfuscation: 'false',
};
const isEmptyMember = (name: string, value: unknown): boolean => emptyMembers[name] === JSON.stringify(value);

function assertSupported(request: CompletionRequest): void {
  const { tools, tool_choice: choice, response_format: format, stream_options, stream } = request;
  const named = typeof choice === 'object' ? choice.function.name : undefined;
  if (named !== undefined && !tools.some(({ function: { name } }) => name === named))
    throw invalidField('tool_choice', `names the function "${named}", which is not in tools`);
  if (choice === 'required' && tools.length === 0) throw invalidField('tool_choice', 'is "required" without tools');
  if (format?.type === 'json_schema' && !format.json_schema)
    throw invalidField('response_format.json_schema', 'is missing');
  if (!stream && stream_options.include_usage) throw invalidField('stream_options', 'needs stream; set it to true');
}

// A client reads the response to a body that is too large only after it has sent it; of a much larger one it gets none.
const maxDiscardedBytes = 8 * maxFrameBytes;

/** Reads the body of a request, of the size of a frame at most, as JSON. @throws ApiError with status 400, 413 or 415 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const { 'content-encoding': coding = 'identity' } = request.headers;
  if (coding.toLowerCase() !== 'identity')
    throw new ApiError(`the content coding "${coding}" of the body is not supported; send it without`, {
      status: 415,
      code: 'unsupported_content_encoding',
    });
  if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes <= maxFrameBytes) chunks.push(chunk);
    else chunks.length = 0;
    if (bytes > maxDiscardedBytes) break;
  }
  if (bytes > maxFrameBytes)
    throw new ApiError(`the body has more than ${maxFrameBytes} bytes; send less`, {
      status: 413,
      code: 'body_too_large',
    });
  const text = decodeUtf8(Buffer.concat(chunks));
  if (text === undefined) throw invalidBody('is not UTF-8');
  const excess = findJsonExcess(text, maxClientValues);
  if (excess) throw invalidBody(jsonExcesses[excess]);
  return parseJson(text, (problem) => invalidBody(problem));
}
