import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TurngraphServer } from '../../../src/server/socket/server.ts';
import { flooding, floodOptions, floodText } from '../../helpers/flood.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';
import { parseScrape } from '../../helpers/prometheus.ts';
import { startTestServer } from '../../helpers/server.ts';

// More than the sockets of a system hold.
const chunks = 8000;
const floodBytes = chunks * 4096;

const scrape = async ({ port }: TurngraphServer) =>
  parseScrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());

/** Waits until a gauge has a value. */
async function untilGauge(server: TurngraphServer, name: string, value: number): Promise<void> {
  while ((await scrape(server)).value(`turngraph_${name}`) !== value) await wait(10);
}

async function startFlood(slowReaderTimeoutMs: number) {
  const graphs = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(graphs, 'flood.json'), JSON.stringify(flooding(chunks)));
  let ended = 0;
  const sendBuffer = { highWaterMark: 256 * 1024, lowWaterMark: 64 * 1024, slowReaderTimeoutMs };
  const server = await startTestServer({ ...floodOptions(() => ended++), openai: true, graphs, sendBuffer });
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await rm(graphs, { recursive: true });
  });
  return { server, ended: () => ended };
}

/** Asks for a stream, and reads nothing of it. */
function ask({ port }: TurngraphServer): Socket {
  const body = JSON.stringify({ model: 'graph:flood', stream: true, messages: [{ role: 'user', content: 'go' }] });
  const socket = createConnection({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).pause();
  const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: localhost', `Content-Length: ${Buffer.byteLength(body)}`];
  socket.write([...head, '', body].join('\r\n'));
  return socket;
}

describe('a client that does not read its stream', () => {
  it('makes its turn wait, holds little memory, and gets all when it reads on', async () => {
    const { server, ended } = await startFlood(oneDayMs);
    const socket = ask(server);
    await untilGauge(server, 'slow_readers', 1);
    const scraped = await scrape(server);
    expect(scraped.value('turngraph_unsent_bytes')).toBeLessThan(512 * 1024);
    expect(scraped.value('turngraph_slow_reader_pauses_total')).toBeGreaterThan(0);
    expect([ended(), scraped.value('turngraph_turns_running')]).toEqual([0, 1]);
    let text = '';
    for await (const piece of socket) text += String(piece);
    expect(ended()).toBe(1);
    expect(text.length).toBeGreaterThan(floodBytes);
    expect(text).toContain('"finish_reason":"stop"');
    expect(text).toContain('data: [DONE]');
    const sent = [...text.matchAll(/"delta":\{"content":"([^"]*)"/g)].map(([, content]) => content).join('');
    expect(sent).toBe(floodText(chunks));
  });

  it('loses its connection after a while, and the turn ends', async () => {
    const { server, ended } = await startFlood(100);
    const socket = ask(server);
    const closed = new Promise((done) => socket.once('close', done));
    while (ended() === 0) await wait(10);
    await untilGauge(server, 'turns_running', 0);
    socket.resume();
    await closed;
    const scraped = await scrape(server);
    expect(scraped.value('turngraph_unsent_bytes')).toBe(0);
    expect(scraped.value('turngraph_slow_readers')).toBe(0);
    expect(scraped.value('turngraph_openai_requests_total', { route: 'chat_completions', status: 'aborted' })).toBe(1);
  });
});
