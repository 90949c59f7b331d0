import { readFile } from 'node:fs/promises';
import { raceAbort } from '../../abort.ts';
import { probeChatTemplate } from '../../chatTemplate/chatTemplate.ts';
import { Fault, describeError } from '../../fault.ts';
import type { LoadOptions, Model } from '../engine.ts';
import { HttpConnection } from './httpConnection.ts';
import { Endpoint } from './endpoint.ts';
import { Endpoints } from './endpoints.ts';
import { LlamaServer, type ServerProps } from './llamaServer.ts';
import { measureOverhead, RemoteServedModel, replyEnd } from './model.ts';
import type { RemoteModel, RemoteTimeouts } from '../remoteModel.ts';
import { readApiKey } from './readApiKey.ts';
import { RemotePrompts } from './remotePrompts.ts';
import { RemoteSlots } from './remoteSlots.ts';
import { checkServed } from './servedModel.ts';
import { readVocabulary } from './vocabulary.ts';

/** How a remote model is loaded. */
export interface RemoteLoadOptions extends Pick<LoadOptions, 'contextSize' | 'slots'> {
  readonly signal: AbortSignal;
  readonly timeouts: RemoteTimeouts;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onClose: (model: Model) => void;
}

interface AnsweringServer {
  readonly server: LlamaServer;
  readonly props: ServerProps;
}

/** Asks the servers of a model what they serve. @throws Fault when none of them can be used. */
export async function loadRemoteModel(remote: RemoteModel, options: RemoteLoadOptions): Promise<Model> {
  const { signal, timeouts } = options;
  const apiKey = readApiKey(remote, options.environment);
  const connections = remote.baseUrls.map((url) => new HttpConnection(url, apiKey, timeouts));
  const closing = new AbortController();
  const close = (): void => {
    closing.abort();
    for (const connection of connections) connection[Symbol.dispose]();
  };
  try {
    const servers = connections.map((connection) => new LlamaServer(connection, remote.model));
    const { answering, problems } = await askAll(servers, signal);
    const notes = [...problems.values()];
    const [first] = answering;
    if (!first) throw new Fault('MODEL_LOAD_FAILED', notes.join('; '));
    const { props } = first;
    const source = remote.templateFile === undefined ? props.chatTemplate : await readTemplate(remote.templateFile);
    if (source === undefined) throw new Fault('MODEL_LOAD_FAILED', noTemplate);
    const served = Math.min(...answering.map(({ props: { contextSize } }) => contextSize));
    const contextSize = options.contextSize === 0 ? served : Math.min(options.contextSize, served);
    const slotCount = ({ slots }: Pick<ServerProps, 'slots'>): number =>
      options.slots === 0 ? slots : Math.min(options.slots, slots);
    const endpoints = new Endpoints(
      servers.map((server) => {
        const own = answering.find((one) => one.server === server)?.props;
        const problem = problems.get(server);
        const wanted = { ...props, contextSize, model: own?.model };
        return new Endpoint(server, new RemoteSlots(own ? slotCount(own) : 0), {
          ...timeouts,
          ...(problem !== undefined && { problem }),
          async check(slots, isAnother) {
            const count = slotCount(await checkServed(server, wanted, closing.signal));
            if (isAnother || count !== slots.count) slots.restart(count);
          },
        });
      }),
      timeouts,
    );
    const chatTemplate = probeChatTemplate(source, props);
    const vocabulary = await readVocabulary(first.server, props, signal);
    const tokenize = (text: string, special: boolean, ending: AbortSignal): Promise<readonly number[]> =>
      endpoints.attempt(
        async (endpoint) => {
          await raceAbort(endpoint.verify(), ending);
          return await endpoint.server.tokenize(text, { special, signal: ending });
        },
        { signal: ending },
      );
    const prompts = new RemotePrompts(chatTemplate, vocabulary, tokenize, closing.signal);
    const endTokens = [replyEnd(prompts), vocabulary.controlToken(props.eos)].filter((token) => token !== undefined);
    return new RemoteServedModel({
      endpoints,
      prompts,
      chatTemplate,
      endTokens: [...new Set(endTokens)],
      contextSize,
      overhead: await measureOverhead(prompts),
      notes: [...notes, ...reducedContext(options.contextSize, served), ...chatTemplate.notes],
      onClose: (model) => {
        close();
        options.onClose(model);
      },
    });
  } catch (error) {
    close();
    throw error;
  }
}

const noTemplate = 'the server has no chat template: name a file with chat_template in models.json';

/** The servers that answer and serve the same model as the first of them, and why the others are not used yet. */
async function askAll(
  servers: readonly LlamaServer[],
  signal: AbortSignal,
): Promise<{ readonly answering: readonly AnsweringServer[]; readonly problems: ReadonlyMap<LlamaServer, string> }> {
  const answers = await Promise.allSettled(
    servers.map(async (server): Promise<AnsweringServer> => ({ server, props: await server.props(signal) })),
  );
  signal.throwIfAborted();
  const answering: AnsweringServer[] = [];
  const problems = new Map<LlamaServer, string>();
  for (const [index, server] of servers.entries()) {
    const answer = answers[index];
    if (answer?.status === 'rejected') problems.set(server, describeError(answer.reason));
    else if (!answer || (answering[0] && answering[0].props.chatTemplate !== answer.value.props.chatTemplate))
      problems.set(server, `${server.connection.url} serves another model, and is not used`);
    else answering.push(answer.value);
  }
  return { answering, problems };
}

const reducedContext = (wanted: number, served: number): readonly string[] =>
  wanted > served
    ? [`context_size is ${wanted}, but the server has slots of ${served} tokens: start it with a larger context`]
    : [];

async function readTemplate(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Fault('MODEL_LOAD_FAILED', `the chat template ${file} cannot be read: ${describeError(cause)}`, {
      cause,
    });
  }
}
