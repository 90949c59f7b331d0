import { setTimeout as wait } from 'node:timers/promises';
import type { ServerFrame, ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { parseScrape, type Scrape } from './prometheus.ts';
import { TestClient } from './server.ts';

/** What a client keeps of a session in order to resume it. */
export interface SessionKey {
  readonly sessionId: string;
  readonly resumeToken: string;
}

/** What a client has received. */
export type Received = Pick<TestClient, 'received'>;

/** The id and the token of the session that a connection has begun. */
export async function keyOf(client: TestClient): Promise<SessionKey> {
  const { sessionId, resumeToken } = await client.receive('sessionReady');
  return { sessionId, resumeToken };
}

/** The highest seq that a client has received. */
export const lastSeqOf = (...clients: readonly Received[]): number =>
  Math.max(0, ...clients.flatMap(({ received }) => received.map(({ seq }) => seq)));

/** The frames of a session in the order in which its clients received them. */
export const framesOf = (...clients: readonly Received[]): readonly ServerFrame[] =>
  clients.flatMap(({ received }) => received.filter(({ seq }) => seq > 0));

/** The text of an answer, from the frames of all clients that resumed its session. */
export const textOf = (requestId: number, ...clients: readonly Received[]): string =>
  framesOf(...clients)
    .map((frame) => (frame.requestId === requestId && frame.body === 'answerText' ? frame.answerText.text : ''))
    .join('');

/** The seqs from 1 to `last`: what a session without a gap or a duplicate has. */
export const seqsTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

// The request ids of each connection that resumes begin after this one, so that no two in a session are equal.
let lastRequestId = 0;

/** Connects again and sends resumeSession as the first request. Returns the client and the final answer. */
export async function resumeOn(
  url: string,
  subprotocol: Subprotocol,
  key: SessionKey,
  lastSeq: number,
): Promise<{ readonly client: TestClient; readonly answer: ServerFrame }> {
  const client = new TestClient(url, subprotocol, (lastRequestId += 1000));
  await client.receive('sessionReady');
  return { client, answer: await client.request('resumeSession', { ...key, lastSeq }) };
}

/** Connects again and resumes the session. @throws Error when it is refused. */
export async function resumed(
  url: string,
  subprotocol: Subprotocol,
  key: SessionKey,
  lastSeq: number,
): Promise<{ readonly client: TestClient } & ServerFrameBodies['resumeSession']> {
  const { client, answer } = await resumeOn(url, subprotocol, key, lastSeq);
  if (answer.body !== 'resumeSession') throw new Error(JSON.stringify(answer));
  return { client, ...answer.resumeSession };
}

/** The metrics of a server. */
export const scrapeOf = async ({ port }: TurngraphServer): Promise<Scrape> =>
  parseScrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());

/** Waits until a gauge of the server has a value. */
export async function untilGauge(server: TurngraphServer, name: string, value: number): Promise<void> {
  while ((await scrapeOf(server)).value(`turngraph_${name}`) !== value) await wait(5);
}
