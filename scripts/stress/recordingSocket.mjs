// Recording WebSocket for the client SDK: passes every frame to a protocol checker, and can be dropped without a close frame.
import { WebSocket } from 'ws';
import { clientCodecs, serverCodecs } from '../../dist/protocol/codec/codec.js';

/** Creates a WebSocket class for one client, and the function that drops its socket. */
export function createRecordingSocket(checker) {
  let socket;
  class RecordingSocket extends WebSocket {
    constructor(url, subprotocol) {
      super(url, subprotocol, { perMessageDeflate: false, closeTimeout: 2000 });
      socket = this;
      this.on('message', (data, isBinary) => {
        const decoded = clientCodecs[subprotocol].decode(
          isBinary ? new Uint8Array(data) : Buffer.from(data).toString(),
        );
        if (decoded.ok) checker.frameReceived(decoded.frame);
        else checker.fail(`a frame that cannot be read: ${decoded.fault.message}`);
      });
    }

    send(data, ...more) {
      const decoded = serverCodecs[this.protocol].decode(data);
      if (decoded.ok) checker.requestSent(decoded.frame);
      super.send(data, ...more);
    }
  }
  return { WebSocket: RecordingSocket, terminate: () => socket?.terminate() };
}
