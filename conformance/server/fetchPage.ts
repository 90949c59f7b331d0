import { type IncomingMessage, request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { describeError } from '../../src/protocol/fault.ts';
import { ConformanceFailure } from '../expect.ts';
import type { ServerUnderTest } from './serverUnderTest.ts';

/** A response to plain HTTP. */
export interface FetchedPage {
  readonly status: number;
  readonly body: string;
}

/** Options of a plain HTTP request. */
export interface PageSettings {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the server's own; empty: none. */
  readonly token?: string;
}

/** Sends a plain HTTP request to the port of the server. @throws ConformanceFailure without a response */
export function fetchPage(
  { url, token: ownToken, timeoutMs }: Pick<ServerUnderTest, 'url' | 'token' | 'timeoutMs'>,
  path: string,
  { method = 'GET', headers, token = ownToken }: PageSettings = {},
): Promise<FetchedPage> {
  const { protocol, hostname, port } = new URL(url);
  const send = protocol === 'wss:' ? secureRequest : request;
  const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
  const fail = (came: string): Error => new ConformanceFailure(`a response to ${method} ${path}`, came, 'HTTP');
  return new Promise((resolve, reject) => {
    const outgoing = send({
      hostname: hostname.replaceAll(/[[\]]/g, ''),
      port,
      path,
      method,
      headers: { ...authorization, ...headers },
      agent: false,
    });
    const timer = setTimeout(() => outgoing.destroy(new Error(`none within ${timeoutMs / 1000} s`)), timeoutMs);
    const end = (error: unknown): void => {
      clearTimeout(timer);
      reject(fail(describeError(error)));
    };
    outgoing.on('response', (response) => {
      readBody(response)
        .then((body) => resolve({ status: response.statusCode ?? 0, body }), end)
        .finally(() => clearTimeout(timer));
    });
    outgoing.on('error', end);
    outgoing.end();
  });
}

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
