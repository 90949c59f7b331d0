import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/**
 * Bytes that were written to an IPv4 loopback connection and that its other end has not read, from /proc/net/tcp;
 * 0 on systems other than Linux.
 */
export async function unreadBytes({ localPort, remotePort }: Socket): Promise<number> {
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '');
  let bytes = 0;
  for (const line of table.split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    const [sendQueue = 0, receiveQueue = 0] = queues.split(':').map((text) => parseInt(text, 16));
    if (parsePort(local) === localPort && parsePort(remote) === remotePort) bytes += sendQueue;
    if (parsePort(local) === remotePort && parsePort(remote) === localPort) bytes += receiveQueue;
  }
  return bytes;
}

const parsePort = (address: string): number => parseInt(address.split(':')[1] ?? '', 16);
