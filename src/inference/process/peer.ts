import { Fault, describeError } from '../../protocol/fault.ts';
import type { CodeName } from '../../protocol/frames.gen.ts';

/** The shape of one kind of request: what is sent, what is answered, and what may come before the answer. */
export interface Request<Params, Result = undefined, Event = never> {
  readonly params: Params;
  readonly result: Result;
  /** Sent to the requester while the request runs. */
  readonly event: Event;
}

export type RequestShape = Request<unknown, unknown, unknown>;
export type RequestShapes = Readonly<Record<string, RequestShape>>;

/** What a requester can tell a request that runs. */
export type RequestControl = 'abort' | 'pause' | 'resume';

export interface RunningRequest<Shape extends RequestShape> {
  /** @throws Fault the error of the other side, or what the peer was closed with; UnreceivedRequest. */
  readonly result: Promise<Shape['result']>;
  control(control: RequestControl): void;
}

/** A request that runs on this side. */
export interface IncomingRequest<Shape extends RequestShape> {
  readonly params: Shape['params'];
  /** Aborted by the requester. */
  readonly signal: AbortSignal;
  /** A promise to wait for while the requester has paused the request; else undefined. */
  readonly paused: () => Promise<void> | undefined;
  readonly emit: (event: Shape['event']) => void;
}

export type RequestHandlers<Shapes extends RequestShapes> = {
  readonly [Name in keyof Shapes]: (
    request: IncomingRequest<Shapes[Name]>,
  ) => Answer<Shapes[Name]['result']> | Promise<Answer<Shapes[Name]['result']>>;
};

/** What a handler returns: nothing, where no result is sent. */
type Answer<Result> = [Result] extends [undefined] ? void : Result;

interface FaultData {
  readonly name: CodeName;
  readonly message: string;
  readonly detail: string;
  readonly cause: string;
}

type Message =
  | readonly [kind: 'request', id: number, name: string, params: unknown]
  | readonly [kind: 'received', id: number]
  | readonly [kind: 'control', id: number, control: RequestControl]
  | readonly [kind: 'event', id: number, event: unknown]
  | readonly [kind: 'result', id: number, result: unknown]
  | readonly [kind: 'error', id: number, fault: FaultData];

// The id of requests that get no answer.
const unanswered = 0;

/** Why a request failed that the other side has not received: it has had no effect, and can be sent to another one. */
export class UnreceivedRequest extends Error {
  constructor(fault: Fault) {
    super(fault.message, { cause: fault });
  }
}

interface PendingRequest {
  isReceived: boolean;
  readonly onEvent: (event: unknown) => void;
  readonly resolve: (result: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Sends all messages of one round of the event loop together. */
export type SendBatch = (messages: readonly unknown[]) => void;

/** One of two processes that send each other requests. Messages are in order; those of one event loop round are one. */
export class Peer<Outgoing extends RequestShapes, Incoming extends RequestShapes> {
  readonly #sendBatch: SendBatch;
  readonly #handlers: RequestHandlers<Incoming>;
  readonly #beforeFlush: () => void;
  readonly #pending = new Map<number, PendingRequest>();
  readonly #running = new Map<number, RunningHere>();
  #outbox: Message[] = [];
  #lastId = 0;
  #closedWith: Fault | undefined;

  /** @param beforeFlush is called before messages are sent, and may add some. */
  constructor(sendBatch: SendBatch, handlers: RequestHandlers<Incoming>, beforeFlush: () => void = () => undefined) {
    this.#sendBatch = sendBatch;
    this.#handlers = handlers;
    this.#beforeFlush = beforeFlush;
  }

  /** Requests of the other side without an answer. */
  get running(): number {
    return this.#running.size;
  }

  /** Sends a request. `onEvent` gets what the other side emits before its answer, and must not throw. */
  request<Name extends keyof Outgoing & string>(
    name: Name,
    params: Outgoing[Name]['params'],
    onEvent: (event: Outgoing[Name]['event']) => void = () => undefined,
  ): RunningRequest<Outgoing[Name]> {
    const id = ++this.#lastId;
    const result = new Promise<Outgoing[Name]['result']>((resolve, reject) => {
      if (this.#closedWith) return reject(new UnreceivedRequest(this.#closedWith));
      this.#pending.set(id, { isReceived: false, onEvent: onEvent as (event: unknown) => void, resolve, reject });
      this.#send(['request', id, name, params]);
    });
    return { result, control: (control) => this.#pending.has(id) && this.#send(['control', id, control]) };
  }

  /** Sends a request whose answer is of no interest, so none is sent. */
  tell<Name extends keyof Outgoing & string>(name: Name, params: Outgoing[Name]['params']): void {
    this.#send(['request', unanswered, name, params]);
  }

  /** Handles what the other side has sent. */
  receive(messages: readonly unknown[]): void {
    for (const message of messages as readonly Message[]) this.#handle(message);
  }

  /** Rejects all requests of this side, now and later, and aborts those of the other side. Nothing is sent any more. */
  close(reason: Fault): void {
    this.#closedWith ??= reason;
    for (const { isReceived, reject } of this.#pending.values())
      reject(isReceived ? this.#closedWith : new UnreceivedRequest(this.#closedWith));
    this.#pending.clear();
    for (const request of this.#running.values()) request.control('abort');
  }

  #handle(message: Message): void {
    const [kind, id] = message;
    if (kind === 'request') return this.#run(id, message[2], message[3]);
    if (kind === 'control') return this.#running.get(id)?.control(message[2]);
    const pending = this.#pending.get(id);
    if (!pending) return;
    pending.isReceived = true;
    if (kind === 'received') return;
    if (kind === 'event') return pending.onEvent(message[2]);
    this.#pending.delete(id);
    if (kind === 'result') pending.resolve(message[2]);
    else pending.reject(toFault(message[2]));
  }

  #run(id: number, name: string, params: unknown): void {
    const running = new RunningHere();
    if (id !== unanswered) {
      this.#running.set(id, running);
      this.#send(['received', id]);
    }
    const emit = (event: unknown): void => this.#send(['event', id, event]);
    const handle = this.#handlers[name] as unknown as (request: IncomingRequest<RequestShape>) => unknown;
    const result = (async () => handle({ params, emit, signal: running.signal, paused: () => running.paused }))();
    const end = (message: Message): void => {
      this.#running.delete(id);
      if (id !== unanswered) this.#send(message);
    };
    result.then(
      (value) => end(['result', id, value]),
      (error: unknown) => end(['error', id, toData(error)]),
    );
  }

  #send(message: Message): void {
    if (this.#closedWith) return;
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#beforeFlush();
    const messages = this.#outbox;
    this.#outbox = [];
    if (!this.#closedWith) this.#sendBatch(messages);
  }
}

class RunningHere {
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  /** Resolves when the request is resumed; undefined while it is not paused. */
  paused: Promise<void> | undefined;
  #resume = (): void => undefined;

  control(control: RequestControl): void {
    if (control === 'abort') this.#abort.abort();
    if (control === 'pause') this.paused ??= new Promise((resolve) => (this.#resume = resolve));
    if (control !== 'resume') return;
    this.#resume();
    this.paused = undefined;
  }
}

function toData(error: unknown): FaultData {
  const { name, message, detail, cause } = Fault.from(error);
  const stack = cause instanceof Error ? (cause.stack ?? cause.message) : describeError(cause ?? '');
  return { name, message, detail, cause: stack };
}

const toFault = ({ name, message, detail, cause }: FaultData): Fault => new Fault(name, message, { detail, cause });
