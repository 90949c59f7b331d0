import type { IncomingMessage, ServerResponse } from 'node:http';
import { maxFrameBytes } from '../frameSize.ts';
import { parseJson } from '../jsonLocations.ts';
import { ApiError } from './apiError.ts';

// A client reads the response to a body that is too large only after it has sent it; of a much larger one it gets none.
const maxDiscardedBytes = 8 * maxFrameBytes;

/** Reads the body of a request, of the size of a frame at most, as JSON. @throws ApiError with status 400 or 413 */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
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
  return parseJson(Buffer.concat(chunks).toString('utf8'), (problem) => {
    return new ApiError(`the body ${problem}`, { status: 400, code: 'invalid_json' });
  });
}
