/** The part of a `ws` socket that is watched. */
export interface WatchedSocket {
  on(event: 'ping' | 'message' | 'close', listen: () => void): unknown;
  terminate(): void;
}

const checkMs = 15_000;
// 75 to 90 s: a server pings every 30 s, so that two pings are missing.
const maxSilentChecks = 6;

/**
 * Terminates a socket on which nothing has arrived for 75 to 90 s, not even a ping: when a machine or a cable fails, the
 * connection is not closed, and the system may notice after many minutes only.
 */
export function terminateWhenSilent(socket: WatchedSocket): void {
  let silentChecks = 0;
  // Counted checks, not a time: a program that was suspended has not read what arrived meanwhile.
  const timer = setInterval(() => {
    if (++silentChecks >= maxSilentChecks) socket.terminate();
  }, checkMs);
  unref(timer);
  const onTraffic = (): void => void (silentChecks = 0);
  socket.on('ping', onTraffic);
  socket.on('message', onTraffic);
  socket.on('close', () => clearInterval(timer));
}

// In pages a timer is a number.
const unref = (timer: unknown): void => (timer as { unref?(): void }).unref?.();
