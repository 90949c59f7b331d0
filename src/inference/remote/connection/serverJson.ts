import { ServerFault } from './serverFault.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { HttpConnection } from './httpConnection.ts';

export type ServerObject = Readonly<Record<string, unknown>>;

/** Requests to a server whose responses are JSON objects. */
export class ServerJson {
  readonly connection: HttpConnection;
  readonly #model: string | undefined;

  /** @param model where the server has several. */
  constructor(connection: HttpConnection, model: string | undefined) {
    this.connection = connection;
    this.#model = model;
  }

  async get(path: string, signal: AbortSignal): Promise<ServerObject> {
    return this.#object(path, await this.connection.json({ path, signal }));
  }

  async post(path: string, body: object, signal: AbortSignal): Promise<ServerObject> {
    return this.#object(path, await this.connection.json({ path, body: this.withModel(body), signal }));
  }

  /** The tokens of a response to /tokenize. */
  async tokens(body: object, signal: AbortSignal): Promise<readonly Token[]> {
    const { tokens } = await this.post('/tokenize', body, signal);
    if (Array.isArray(tokens) && tokens.every((token) => Number.isInteger(token))) return tokens as readonly Token[];
    throw this.malformed('/tokenize', 'it has no list of tokens');
  }

  withModel(body: object): object {
    return this.#model === undefined ? body : { ...body, model: this.#model };
  }

  /** The entry of the model in a list of models: the first one, where it has no name. */
  ownModel(list: unknown): ServerObject | undefined {
    const models = Array.isArray(list) ? (list as readonly unknown[]).filter(isObject) : [];
    return models.find(({ id }) => id === this.#model) ?? (this.#model === undefined ? models[0] : undefined);
  }

  /** The events of a stream, of which none is an error. */
  async *events(
    path: string,
    body: object,
    { signal, isLast = () => false }: { readonly signal: AbortSignal; readonly isLast?: (event: unknown) => boolean },
  ): AsyncGenerator<ServerObject> {
    for await (const event of this.connection.events({ path, body: this.withModel(body), signal }, isLast)) {
      if (!isObject(event)) throw this.malformed(path, 'an event is no object');
      const error = event['object'] === 'error' ? event : event['error'];
      if (error !== undefined && error !== null) {
        const words = isObject(error) ? error['message'] : error;
        throw new ServerFault(`${this.connection.url}${path} has failed: ${this.connection.withoutKey(String(words))}`);
      }
      yield event;
    }
  }

  /** The error for a stream that ends too early. */
  brokenOff(): ServerFault {
    const message = `${this.connection.url} has gone away in the middle of a response: its events end before the last one`;
    return new ServerFault(message, { name: 'ENGINE_CRASHED', retryable: true });
  }

  /** The error for a response that is not what the API says. */
  malformed(path: string, why: string): ServerFault {
    return new ServerFault(`the response of ${this.connection.url}${path} cannot be used: ${why}`);
  }

  #object(path: string, value: unknown): ServerObject {
    if (isObject(value)) return value;
    throw this.malformed(path, 'it is no object');
  }
}

/** A response that not every server has; empty where it has none. */
export async function optional(response: Promise<ServerObject>): Promise<ServerObject> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof ServerFault && [400, 404, 405, 422, 501].includes(error.status)) return {};
    throw error;
  }
}

/** A number of tokens or slots that a server reports; 0: it is none, or no possible one. */
export const readCount = (value: unknown): number =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 2 ** 31 ? value : 0;
