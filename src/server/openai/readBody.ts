import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxFrameBytes } from '../../protocol/frameSize.ts';
import { parseJson } from '../../base/jsonLocations.ts';
import { ApiError } from './apiError.ts';

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
  const text = readText(Buffer.concat(chunks));
  const value = parseJson(text, (problem) => invalidBody(problem));
  const [half] = loneSurrogate.exec(text.replaceAll(wholeEscape, '')) ?? [];
  if (half !== undefined) throw invalidBody(`has half of a surrogate pair, ${half}, which no text can have`);
  return value;
}

const invalidBody = (problem: string): ApiError =>
  new ApiError(`the body ${problem}`, { status: 400, code: 'invalid_json' });

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw invalidBody('is not UTF-8');
  }
}

// An escaped pair, and any escaped character that is no half of one.
const wholeEscape = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\[^u]/g;
const loneSurrogate = /\\u[dD][89a-fA-F][\da-fA-F]{2}/;
