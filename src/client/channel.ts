import { closeCodes } from '../protocol/closeCodes.ts';
import { Fault } from '../protocol/fault.ts';
import type { ClientFrame, ServerFrame } from '../protocol/frames.gen.ts';
import type { Codec } from '../protocol/codec/codec.ts';
import { toFault } from './toolCall.ts';
import type { WebSocketLike } from './socket.ts';

// `WebSocket.CONNECTING` and `WebSocket.OPEN`.
const connecting = 0;
const open = 1;

// `ws` ends a socket by itself 2 s after `close`.
const closeTimeoutMs = 3000;

/** How a connection ended: the close code and reason of its socket. */
export interface CloseInfo {
  readonly code: number;
  readonly reason: string;
}

const connectionLost: CloseInfo = { code: closeCodes.connectionLost, reason: '' };

export interface ChannelEnd extends CloseInfo {
  /** The error that explains the end: of the socket, or the last one of the server that answers no request. */
  readonly error: Fault | undefined;
}

export interface ChannelListener {
  /** `bytes` is the size of the frame; of JSON its characters. */
  receive(frame: ServerFrame, bytes: number): void;
  /** A message of a newer server, which no request of this client waits for. */
  receiveUnknown(): void;
  /** A frame that cannot be decoded. */
  receiveInvalid(fault: Fault): void;
  /** The socket has closed; called once, as the last. */
  end(end: ChannelEnd): void;
}

export type ClientCodec = Codec<ServerFrame, ClientFrame>;

/** Frames over one WebSocket. What arrives without a listener waits for the next one, so that none is lost. */
export class Channel {
  readonly codec: ClientCodec;
  readonly #socket: WebSocketLike;
  #listener: ChannelListener | undefined;
  readonly #waiting: ((listener: ChannelListener) => void)[] = [];
  #error: Fault | undefined;
  #hasEnded = false;
  #closeTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocketLike, codec: ClientCodec, maxFrameBytes: number) {
    this.codec = codec;
    const tooLarge = new Fault('FRAME_TOO_LARGE', `it has more than ${maxFrameBytes} bytes; see limits.maxFrameBytes`);
    const refuse = (): void => this.#emit((listener) => listener.receiveInvalid(tooLarge));
    this.#socket = socket;
    socket.addEventListener('error', ({ message, error }) => {
      // `ws` reads no more of a large frame than its head.
      if (message === 'Max payload size exceeded') refuse();
      // The AggregateError of Node for a host with many addresses has no message.
      const reason = message || (error as { readonly code?: unknown } | undefined)?.code;
      if (reason) this.#error ??= new Fault('CONNECTION_FAILED', String(reason));
      // The WebSocket of Node 22 has no close event when it cannot connect.
      if (socket.readyState === connecting) this.#end(connectionLost);
    });
    socket.addEventListener('message', ({ data }) => {
      const bytes = typeof data === 'string' ? data.length : (data as ArrayBuffer).byteLength;
      if (bytes > maxFrameBytes) refuse();
      else this.#decode(data, bytes);
    });
    socket.addEventListener('close', ({ code, reason }) => this.#end({ code, reason }));
  }

  /** Whether a frame that is sent now may arrive. A socket that is closing sends nothing more. */
  get isOpen(): boolean {
    return this.#socket.readyState === open;
  }

  /** Sets the listener, which gets at once what has arrived since the last one was detached. */
  attach(listener: ChannelListener): void {
    this.#listener = listener;
    while (this.#listener) {
      const deliver = this.#waiting.shift();
      if (!deliver) return;
      deliver(this.#listener);
    }
  }

  /** Removes the listener: what arrives now waits for the next one. */
  detach(): void {
    this.#listener = undefined;
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(data);
  }

  /** Closes the socket; the listener is told when it has closed, or after 3 s when the server does not answer. */
  close(code?: number): void {
    this.#socket.close(code);
    if (!this.#hasEnded) this.#closeTimer ??= setTimeout(() => this.#end(connectionLost), closeTimeoutMs);
  }

  #end({ code, reason }: CloseInfo): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#closeTimer);
    const error = this.#error;
    this.#emit((listener) => listener.end({ code, reason, error }));
  }

  #decode(data: unknown, bytes: number): void {
    if (this.#hasEnded) return;
    const decoded = this.codec.decode(typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer));
    if (decoded.ok) {
      const { frame } = decoded;
      // An error that answers no request is why the server closes the connection next.
      if (frame.requestId === 0 && frame.body === 'error') this.#error = toFault(frame.error);
      return this.#emit((listener) => listener.receive(frame, bytes));
    }
    if (decoded.fault.name === 'UNKNOWN_MESSAGE_TYPE') return this.#emit((listener) => listener.receiveUnknown());
    this.#emit((listener) => listener.receiveInvalid(decoded.fault));
  }

  #emit(deliver: (listener: ChannelListener) => void): void {
    if (this.#listener && this.#waiting.length === 0) deliver(this.#listener);
    else this.#waiting.push(deliver);
  }
}

/** The Fault CONNECTION_DROPPED for a channel that has ended. */
export function droppedFault({ code, reason, error }: ChannelEnd): Fault {
  const event =
    code === closeCodes.connectionLost
      ? `the connection broke off (${code})`
      : `the connection was closed with ${code} ${reason}`.trim();
  return faultOfEvent(event, error);
}

/** A Fault CONNECTION_DROPPED with an event, such as `the connection is closing`, and the error behind it. */
export const faultOfEvent = (event: string, error?: Fault): Fault =>
  new Fault('CONNECTION_DROPPED', error ? `${event}: ${error.message}` : event, { cause: error });
