import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { request, stallTimeoutOf } from '../../../src/inference/download/hub/request.ts';
import { readHubSettings } from '../../../src/inference/download/hub/endpoint.ts';
import { FakeHub, seededBytes } from '../../helpers/fakeHub.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a response', () => {
  it('can be read completely after several garbage collections', async () => {
    await using server = await FakeHub.open();
    const content = seededBytes(300_000);
    server.files.set('ann/tiny/model.gguf', { content });
    server.maxBytesSent = 0;
    const address = new URL('ann/tiny/resolve/main/model.gguf', `${server.url}/`);
    using stallTimeout = stallTimeoutOf(new AbortController().signal, oneDayMs);
    const { body } = await request(await readHubSettings({ HF_ENDPOINT: server.url }), address, {
      method: 'GET',
      stallTimeout,
    });
    for (let times = 0; times < 5; times++) {
      collectGarbage();
      await yieldToEventLoop();
    }
    server.maxBytesSent = Infinity;
    const pieces: Uint8Array[] = [];
    for (let piece = await body.next(); !piece.done; piece = await body.next()) pieces.push(piece.value);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  });
});
