import { describePointer, pointerTokens } from '../../base/jsonPointer.ts';
import type { ObjectSchema, ReadResult } from '../../protocol/schema.ts';
import { Fault } from '../../protocol/fault.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';
import { withoutDownloadRequests } from '../../inference/models/catalogue/catalogue.ts';

export interface ApiErrorFacts {
  readonly status: number;
  /** The field of the request, such as `messages[0].content`. */
  readonly param?: string | undefined;
  /** A stable name of the error. */
  readonly code?: string | undefined;
}

/** An error of the OpenAI-compatible API: an HTTP status, and a body in OpenAI's shape. */
export class ApiError extends Error {
  readonly status: number;
  readonly param: string | undefined;
  readonly code: string | undefined;

  constructor(message: string, { status, param, code }: ApiErrorFacts) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code;
  }

  get body(): object {
    const { message, param = null, code = null } = this;
    return { error: { message, type: typeOf(this.status), param, code } };
  }

  static from(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    const { name, message } = Fault.from(thrown);
    const { status = 500, param, code = name.toLowerCase() } = faultStatus[name] ?? {};
    const text = name === 'MODEL_NOT_ON_DISK' ? withoutDownloadRequests(message) : message;
    return new ApiError(text, { status, param, code });
  }
}

export const invalidField = (param: string, message: string, code?: string): ApiError =>
  new ApiError(`${param} ${message}`, { status: 400, param, code });

export const invalidBody = (problem: string): ApiError =>
  new ApiError(`the body ${problem}`, { status: 400, code: 'invalid_json' });

/** The value of a body that was read. @throws ApiError that names the field of the first error. */
export function unwrapBody<T>(reading: ReadResult<T>, schema: ObjectSchema): T {
  if (reading.ok) return reading.value;
  const { pointer = '', message = 'is not valid' } = reading.errors[0] ?? {};
  const [field = ''] = pointerTokens(pointer);
  const isUnknown = pointer !== '' && !Object.hasOwn(schema.properties, field);
  const param = describePointer(pointer).replace(/^\./, '');
  throw invalidField(param || 'the body', message, isUnknown ? 'unsupported_parameter' : 'invalid_value');
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

const faultStatus: { readonly [Name in CodeName]?: Partial<ApiErrorFacts> } = {
  UNKNOWN_MODEL: { status: 404, param: 'model', code: 'model_not_found' },
  MODEL_NOT_ON_DISK: { status: 404, param: 'model', code: 'model_not_found' },
  PROMPT_TOO_LARGE: { status: 400, param: 'messages', code: 'context_length_exceeded' },
  LIMIT_EXCEEDED: { status: 400 },
  INFERENCE_TIMEOUT: { status: 504 },
  MODEL_LOAD_FAILED: { status: 503, param: 'model' },
  MODEL_IN_USE: { status: 503, param: 'model' },
  ENGINE_CRASHED: { status: 503 },
  SERVER_SHUTTING_DOWN: { status: 503 },
};
