import type { WebSocket } from 'ws';
import type { Fault } from '../../protocol/fault.ts';
import { serverCodecs, type Subprotocol } from '../../protocol/codec/codec.ts';
import { serverFrame } from '../../protocol/codec/frame.ts';

const closeTimeoutMs = 2_000;

/** Closes a socket; terminates it after a timeout, because a client that does not read does not answer the close frame. */
export function closeSocket(socket: WebSocket, closeCode: number, reason: string): void {
  socket.close(closeCode, reason);
  // A paused socket does not receive the close frame of the client; and a socket that is closed with unread data is
  // reset, which can destroy what the client has not read.
  socket.resume();
  const timeout = setTimeout(() => socket.terminate(), closeTimeoutMs);
  socket.once('close', () => clearTimeout(timeout));
}

/** Rejects a client after the handshake: sends the error in a frame, then closes. */
export function rejectConnection(socket: WebSocket, subprotocol: Subprotocol, fault: Fault, closeCode: number): void {
  const { code, name, message, detail } = fault;
  socket.on('error', () => socket.terminate());
  socket.send(serverCodecs[subprotocol].encode(serverFrame(0, 0, 'error', { code, name, message, detail })));
  closeSocket(socket, closeCode, name);
}
