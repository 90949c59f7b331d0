import type { Environment } from '../../base/httpRoute.ts';
import type { InferenceServer, ServerProps } from './inferenceServer.ts';
import { ServerFault } from './connection/serverFault.ts';
import { probeChatTemplate, type ChatTemplate } from '../../chat/template/chatTemplate.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { LoadOptions, Model, Sequence } from '../contract/engine.ts';
import { HttpConnection, type RemoteTimeouts } from './connection/httpConnection.ts';
import { Endpoint, Endpoints } from './endpoints/endpoints.ts';
import { replyEnd, countTools, overheadDialogs, overheadOf } from '../decoding/templateProbes.ts';
import type { RemoteModel } from '../contract/model.ts';
import { readApiKey, readTemplate, serverApis } from './serverApis.ts';
import { RemotePrompts, type RemoteTokenizer } from './sequence/remotePrompts.ts';
import { afterEndedRequests } from './llamaServer/endedRequests.ts';
import { RemoteSlots } from './endpoints/remoteSlots.ts';
import type { Token } from '../decoding/tokenizer.ts';
import { type ModelMemory, noModelMemory, noStats } from '../contract/memory.ts';
import { RemoteSequence } from './sequence/sequence.ts';

export interface RemoteLoadOptions extends Pick<LoadOptions, 'contextSize' | 'slots'> {
  readonly signal: AbortSignal;
  readonly timeouts: RemoteTimeouts;
  readonly environment: Environment;
  readonly onClose: (model: Model) => unknown;
  /** Present where this process has started the server. */
  readonly own?: OwnServer;
}

/** A server that this process has started for one model. */
export interface OwnServer extends Pick<RemoteModelParts, 'memory' | 'supervision'> {
  /** Resolves when it can be asked. @throws Fault when it has ended; the reason of the signal. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  /** Whether its slots share one KV cache. */
  readonly sharesCells: boolean;
}

interface AnsweringServer {
  readonly server: InferenceServer;
  readonly props: ServerProps;
}

/** The servers that answer and serve the same model, and why the others are not used yet. */
interface Answers {
  readonly answering: readonly AnsweringServer[];
  readonly problems: ReadonlyMap<InferenceServer, string>;
}

/** Asks the servers of a model what they serve. @throws Fault when none of them can be used. */
export async function loadRemoteModel(remote: RemoteModel, options: RemoteLoadOptions): Promise<Model> {
  const { signal, timeouts, own } = options;
  const apiKey = readApiKey(remote, options.environment);
  const ownTemplate = await readTemplate(remote);
  const connections = remote.baseUrls.map(
    (url) => new HttpConnection(url, apiKey, timeouts, options.environment, own?.ready),
  );
  const closing = new AbortController();
  const close = (): void => {
    closing.abort();
    for (const connection of connections) connection[Symbol.dispose]();
  };
  try {
    const open = (connection: HttpConnection): InferenceServer =>
      serverApis[remote.api](connection, remote.model, ownTemplate);
    const servers = connections.map((each) => (own?.sharesCells ? afterEndedRequests(open(each)) : open(each)));
    const answers = await askAll(servers, signal);
    const { answering, problems } = answers;
    const notes = [...problems.values()];
    const [first] = answering;
    if (!first) throw new Fault('MODEL_LOAD_FAILED', notes.join('; '));
    const { props } = first;
    const source = ownTemplate ?? props.chatTemplate;
    if (source === undefined) throw new Fault('MODEL_LOAD_FAILED', noTemplate);
    const contextSize = contextSizeOf(answering, options.contextSize);
    const endpoints = toEndpoints(servers, answers, { ...props, contextSize }, options, closing.signal);
    const chatTemplate = probeChatTemplate(source, props, remote.templateFile ?? 'chat_template');
    const vocabulary = await first.server.vocabulary(props, signal);
    const prompts = new RemotePrompts(chatTemplate, vocabulary, tokenizerOf(endpoints), closing.signal);
    const endTokens = [replyEnd(prompts), props.eos].flatMap((end) =>
      end === undefined ? [] : (vocabulary.controlToken(end) ?? []),
    );
    return createRemoteModel({
      endpoints,
      prompts,
      chatTemplate,
      endTokens: [...new Set(endTokens)],
      contextSize,
      overhead: await measureOverhead(prompts),
      limits: props.limits,
      notes: [...notes, ...props.notes, ...reducedContext(options.contextSize, contextSize), ...chatTemplate.notes],
      ...(own && { memory: own.memory, supervision: own.supervision }),
      onClose: (model) => {
        close();
        return options.onClose(model);
      },
    });
  } catch (error) {
    close();
    throw error;
  }
}

/** The endpoints of all servers: one that did not answer may be started later. */
function toEndpoints(
  servers: readonly InferenceServer[],
  { answering, problems }: Answers,
  served: ServerProps,
  { slots: wantedSlots, timeouts, own: started }: RemoteLoadOptions,
  closing: AbortSignal,
): Endpoints {
  const slotCount = ({ slots }: Pick<ServerProps, 'slots'>): number =>
    wantedSlots === 0 ? slots : Math.min(wantedSlots, slots);
  const endpoints = servers.map((server) => {
    const own = answering.find((one) => one.server === server)?.props;
    const problem = problems.get(server);
    const wanted = { ...served, model: own?.model };
    const ownSlots = new RemoteSlots(own ? slotCount(own) : 0, started?.sharesCells ? own?.contextSize : Infinity);
    return new Endpoint(server, ownSlots, {
      ...timeouts,
      ...(problem !== undefined && { problem }),
      async check(slots, isAnother) {
        const count = slotCount(await checkServed(server, wanted, closing));
        if (isAnother || count !== slots.count) slots.restart(count);
      },
    });
  });
  return new Endpoints(endpoints, timeouts);
}

const noTemplate = 'the server has no chat template: name a file with chat_template in models.json';
const noContextSize = 'the server does not say how long its context is: set context_size in models.json';

/** The tokens that each sequence can have. @param wanted 0 = as many as the servers have. */
function contextSizeOf(answering: readonly AnsweringServer[], wanted: number): number {
  const known = answering.map(({ props }) => props.contextSize).filter((size) => size > 0);
  const size = Math.min(...known, wanted === 0 ? Infinity : wanted);
  if (size === Infinity) throw new Fault('MODEL_LOAD_FAILED', noContextSize);
  return size;
}

function tokenizerOf(endpoints: Endpoints): RemoteTokenizer {
  const attempt = <T>(work: (server: InferenceServer) => Promise<T>, signal: AbortSignal): Promise<T> =>
    endpoints.attempt(
      async (endpoint) => {
        await endpoint.verify(signal);
        return await work(endpoint.server);
      },
      { signal },
    );
  return {
    tokenize: (text, options) => attempt((server) => server.tokenize(text, options), options.signal),
    detokenize: (tokens, signal) => attempt((server) => server.detokenize(tokens, signal), signal),
  };
}

async function askAll(servers: readonly InferenceServer[], signal: AbortSignal): Promise<Answers> {
  const answers = await Promise.allSettled(
    servers.map(async (server): Promise<AnsweringServer> => ({ server, props: await server.props(signal) })),
  );
  signal.throwIfAborted();
  const answering: AnsweringServer[] = [];
  const problems = new Map<InferenceServer, string>();
  for (const [index, server] of servers.entries()) {
    const answer = answers[index];
    if (answer?.status === 'rejected') problems.set(server, describeError(answer.reason));
    else if (!answer || (answering[0] && answering[0].props.fingerprint !== answer.value.props.fingerprint))
      problems.set(server, `${server.connection.url} serves another model, and is not used`);
    else answering.push(answer.value);
  }
  return { answering, problems };
}

const reducedContext = (wanted: number, served: number): readonly string[] => {
  const note = `context_size is ${wanted}, but the server has ${served} tokens for each sequence: start it with a larger context`;
  return wanted > served ? [note] : [];
};

interface ServedModel extends Pick<ServerProps, 'chatTemplate' | 'bos' | 'eos' | 'fingerprint'> {
  /** Tokens of each slot, at least. */
  readonly contextSize: number;
  /** Name of the model that the server had before; undefined: it has not answered yet. */
  readonly model: string | undefined;
}

/** Why a server cannot be an endpoint of a loaded model; undefined: it can. */
function findDifference(wanted: ServedModel, props: ServerProps): string | undefined {
  if (wanted.model !== undefined && wanted.model !== props.model)
    return `serves another model than before: ${props.model} instead of ${wanted.model}`;
  if (wanted.chatTemplate !== props.chatTemplate) return 'serves another model: its chat template differs';
  if (wanted.bos !== props.bos || wanted.eos !== props.eos) return 'serves another model: its BOS or EOS token differs';
  if (wanted.fingerprint !== props.fingerprint) return 'serves another model, or its abilities differ';
  if (props.contextSize > 0 && props.contextSize < wanted.contextSize)
    return `has slots of ${props.contextSize} tokens now, and the model was loaded with ${wanted.contextSize}`;
  return undefined;
}

/** Asks a server whether it serves a model. @throws ServerFault when it does not. */
async function checkServed(server: InferenceServer, wanted: ServedModel, signal: AbortSignal): Promise<ServerProps> {
  const props = await server.props(signal);
  const difference = findDifference(wanted, props);
  if (difference === undefined) return props;
  const message = `${server.connection.url} ${difference}; start it with the same model, or unload the model and load it`;
  // Another endpoint may serve it.
  throw new ServerFault(message, { retryable: true });
}

/** What a remote model is made of; with `supervision` where this process has started the server. */
interface RemoteModelParts extends Pick<Model, 'contextSize' | 'overhead' | 'limits' | 'notes' | 'supervision'> {
  readonly endpoints: Endpoints;
  readonly prompts: RemotePrompts;
  readonly chatTemplate: ChatTemplate;
  readonly endTokens: readonly Token[];
  /** Ends all requests, and closes all connections. */
  readonly onClose: (model: Model) => unknown;
  /** What it takes on this machine; absent: nothing. */
  readonly memory?: ModelMemory | undefined;
}

/** Creates a model that inference servers have in memory: prompts are rendered here, tokens are computed there. */
function createRemoteModel(parts: RemoteModelParts): Model {
  const { endpoints, prompts, chatTemplate, endTokens, onClose, memory = noModelMemory, ...facts } = parts;
  const { toolDialect, replyMarks } = chatTemplate;
  const { contextSize, supervision } = facts;
  const sequences = new Set<Sequence>();
  const sum = (read: (slots: Endpoint['slots']) => number): number =>
    endpoints.all.reduce((total, { slots }) => total + read(slots), 0);
  const model: Model = {
    ...facts,
    toolDialect,
    replyMarks,
    canSpeculate: false,
    count: (texts) => Promise.all(texts.map(async (text) => (await prompts.plainTokens(text)).length)),
    countTools: (tools) => countTools(prompts, tools, contextSize),
    render: async (prompt) => prompts.render(prompt).text,
    openSequence({ label = '' } = {}) {
      const givesChoices = facts.limits?.confidence === undefined;
      const own = { label, endpoints, prompts, endTokens, replyMarks, contextSize, givesChoices };
      const sequence = new RemoteSequence({ ...own, onClose: (closed) => sequences.delete(closed) });
      sequences.add(sequence);
      return sequence;
    },
    // What is in the memory of another machine is not this server's.
    stats: () => ({
      ...noStats,
      backend: supervision ? 'llama-server' : 'http',
      memory,
      slots: sum(({ count }) => count),
      slotsBusy: sum(({ busy }) => busy),
      waiting: sum(({ waiting }) => waiting),
      sequences: sequences.size,
    }),
    async [Symbol.asyncDispose]() {
      await Promise.all([...sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
      await onClose(model);
    },
  };
  return model;
}

async function measureOverhead(prompts: RemotePrompts): Promise<Model['overhead']> {
  const addedTokens = overheadDialogs.map(async (messages) => {
    const whole = await prompts.tokensYielding(prompts.render({ messages }));
    const texts = await Promise.all(messages.map(({ text }) => prompts.plainTokens(text)));
    return whole.length - texts.flat().length;
  });
  return overheadOf(await Promise.all(addedTokens));
}
