import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/**
 * Bytes that were written to a loopback connection of IPv4 and that its other end has not read, as Linux knows them;
 * 0 on other systems.
 */
export async function unreadBytes({ localPort, remotePort }: Socket): Promise<number> {
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '');
  let bytes = 0;
  for (const line of table.split('\n').slice(1)) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    const [sending = 0, receiving = 0] = queues.split(':').map((text) => parseInt(text, 16));
    if (portOf(local) === localPort && portOf(remote) === remotePort) bytes += sending;
    if (portOf(local) === remotePort && portOf(remote) === localPort) bytes += receiving;
  }
  return bytes;
}

const portOf = (address: string): number => parseInt(address.split(':')[1] ?? '', 16);
