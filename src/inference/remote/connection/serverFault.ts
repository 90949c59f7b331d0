import type { IncomingMessage } from 'node:http';
import { isObject, tryParseJson } from '../../../base/jsonTypes.ts';
import { parseRetryAfter } from '../../../base/httpRoute.ts';
import { Fault } from '../../../protocol/fault.ts';

/** A request that an inference server has refused or not answered. */
export class ServerFault extends Fault {
  /** Whether another attempt, or another endpoint, may succeed. */
  readonly retryable: boolean;
  /** Milliseconds that the server asks to wait before the next attempt; 0 = it has not said. */
  readonly retryAfterMs: number;
  /** Whether there was no connection. */
  readonly unreachable: boolean;
  /** HTTP status of the response; 0 = there was none. */
  readonly status: number;

  constructor(message: string, details: FaultDetails = {}) {
    const { name = 'INFERENCE_FAILED', cause, retryable = false, retryAfterMs = 0, unreachable = false } = details;
    super(name, message, cause === undefined ? {} : { cause });
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
    this.unreachable = unreachable;
    this.status = details.status ?? 0;
  }
}

/** What is known of a fault besides its message. Default: another attempt does not help. */
type FaultDetails = Partial<Pick<ServerFault, 'retryable' | 'retryAfterMs' | 'unreachable' | 'status'>> & {
  readonly name?: 'ENGINE_CRASHED';
  readonly cause?: unknown;
};

const hints = new Map([
  [401, 'check the environment variable that api_key_env of the model in models.json names'],
  [403, 'check the environment variable that api_key_env of the model in models.json names'],
  [404, 'check base_url and api of the model in models.json'],
  [429, 'too many requests: try again later, or add an endpoint to base_url'],
]);

/** The error for a response with an error status, with the words of the server. */
export function refusedBy(url: string, { statusCode = 0, headers }: IncomingMessage, body: string): ServerFault {
  const words = serverWords(body);
  const hint = hints.get(statusCode);
  const said = words === '' ? '' : `: ${words}`;
  return new ServerFault(`${url} answers with status ${statusCode}${said}${hint === undefined ? '' : `; ${hint}`}`, {
    retryable: [429, 502, 503, 504].includes(statusCode),
    retryAfterMs: parseRetryAfter(headers['retry-after']) ?? 0,
    status: statusCode,
  });
}

const maxWords = 500;

/** What an error response says: its message, where it is JSON as llama-server and OpenAI write it; else its text. */
function serverWords(body: string): string {
  const parsed = tryParseJson(body);
  const { error = parsed } = isObject(parsed) ? parsed : { error: body };
  const words = isObject(error) && 'message' in error ? error['message'] : error;
  return (typeof words === 'string' ? words : body).trim().slice(0, maxWords);
}
