import type { IncomingMessage } from 'node:http';

const maxBytes = 4 * 1024 * 1024;

/** Reads the body of a response. @throws Error when it is cut off, or longer than 4 MiB. */
export async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`a body of more than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks).toString();
}
