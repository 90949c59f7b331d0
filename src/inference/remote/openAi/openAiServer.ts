import type { Token } from '../../decoding/token.ts';
import type { HttpConnection } from '../connection/httpConnection.ts';
import type {
  InferenceServer,
  RemoteCompletionEnd,
  RemoteCompletionPart,
  RemoteRequest,
  ServerProps,
  TokenizeOptions,
} from '../inferenceServer.ts';
import { OpenAiEvents } from './openAiEvents.ts';
import { probeAbilities, type ServerAbilities } from './openAiAbilities.ts';
import { completionBody, completionPath } from './openAiRequest.ts';
import { readIdentity } from './openAiIdentity.ts';
import { ServerJson } from '../connection/serverJson.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Requests that are sent at once. The server has a queue of its own. */
const maxRequests = 128;

/** The completion API of OpenAI-style servers (vLLM, SGLang), as far as the engine uses it. */
export class OpenAiServer implements InferenceServer {
  readonly connection: HttpConnection;
  readonly #json: ServerJson;
  readonly #template: string;
  #abilities: Promise<ServerAbilities> | undefined;
  /** What the server was when its abilities were tried. */
  #identity = '';

  /**
   * @param model where the server has several.
   * @param template source of the chat template: the control strings of the model are searched in it.
   */
  constructor(connection: HttpConnection, model: string | undefined, template: string) {
    this.connection = connection;
    this.#json = new ServerJson(connection, model);
    this.#template = template;
  }

  async props(signal: AbortSignal): Promise<ServerProps> {
    const { identity, ...known } = await readIdentity(this.#json, signal);
    if (identity !== this.#identity) this.#abilities = undefined;
    this.#identity = identity;
    const { tokenizer, grammarField, limits, notes, build, bos, eos } = await this.#probed(signal);
    const { controlStrings } = tokenizer;
    const fingerprint = JSON.stringify([identity, tokenizer.kind, controlStrings, grammarField, Object.keys(limits)]);
    return { ...known, slots: maxRequests, chatTemplate: undefined, build, bos, eos, fingerprint, limits, notes };
  }

  async vocabulary(_: ServerProps, signal: AbortSignal): Promise<Vocabulary> {
    return (await this.#probed(signal)).tokenizer.vocabulary;
  }

  async tokenize(text: string, options: TokenizeOptions): Promise<readonly Token[]> {
    return (await this.#probed(options.signal)).tokenizer.tokenize(text, options);
  }

  async detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string> {
    return (await this.#probed(signal)).tokenizer.detokenize(tokens, signal);
  }

  async *complete(
    request: RemoteRequest,
    signal: AbortSignal,
  ): AsyncGenerator<RemoteCompletionPart, RemoteCompletionEnd> {
    const { tokenizer, grammarField } = await this.#probed(signal);
    const body = completionBody(request, { prompt: tokenizer.promptOf(request.prompt), grammarField });
    const reader = new OpenAiEvents(this.#json, tokenizer.vocabulary);
    for await (const event of this.#json.events(completionPath, body, { signal })) yield* reader.read(event);
    return reader.end();
  }

  /** What the server can do, tried once. */
  async #probed(signal: AbortSignal): Promise<ServerAbilities> {
    this.#abilities ??= probeAbilities(this.#json, this.#template, signal);
    const abilities = this.#abilities;
    try {
      return await abilities;
    } catch (error) {
      if (this.#abilities === abilities) this.#abilities = undefined;
      throw error;
    }
  }
}
