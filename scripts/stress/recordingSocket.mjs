// A WebSocket for the SDK that keeps a ledger of what passes, and can be dropped without a goodbye.
import { WebSocket } from 'ws';
import { clientCodecs, serverCodecs } from '../../dist/wire/codec.js';

/** A class to connect one client with, and the way to drop its socket. */
export function watchedSocket(ledger) {
  let socket;
  class Watched extends WebSocket {
    constructor(url, subprotocol) {
      super(url, subprotocol, { perMessageDeflate: false, closeTimeout: 2000 });
      socket = this;
      this.on('message', (data, isBinary) => {
        const decoded = clientCodecs[subprotocol].decode(
          isBinary ? new Uint8Array(data) : Buffer.from(data).toString(),
        );
        if (decoded.ok) ledger.heard(decoded.frame);
        else ledger.fault(`a frame that cannot be read: ${decoded.fault.message}`);
      });
    }

    send(data, ...more) {
      const decoded = serverCodecs[this.protocol].decode(data);
      if (decoded.ok) ledger.sent(decoded.frame);
      super.send(data, ...more);
    }
  }
  return { WebSocket: Watched, terminate: () => socket?.terminate() };
}
