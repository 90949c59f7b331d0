import { setImmediate as breath } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { request } from '../../../src/download/hub/request.ts';
import { StallTimeout } from '../../../src/download/hub/stallTimeout.ts';
import { readHubSettings } from '../../../src/download/hub/endpoint.ts';
import { FakeHub, seededBytes } from '../../helpers/fakeHub.ts';
import { oneDayMs } from '../../helpers/heldEngine.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('an answer', () => {
  it('holds all of its contents, also when they are read late and garbage is collected before', async () => {
    await using server = await FakeHub.open();
    const content = seededBytes(300_000);
    server.files.set('ann/tiny/model.gguf', { content });
    server.maxBytesSent = 0;
    const address = new URL('ann/tiny/resolve/main/model.gguf', `${server.url}/`);
    using patience = new StallTimeout(new AbortController().signal, oneDayMs);
    const { body: reading } = await request(readHubSettings({ HF_ENDPOINT: server.url }), address, {
      method: 'GET',
      stallTimeout: patience,
    });
    for (let times = 0; times < 5; times++) {
      collectGarbage();
      await breath();
    }
    server.maxBytesSent = Infinity;
    const pieces: Uint8Array[] = [];
    for (let piece = await reading?.read(); piece?.value; piece = await reading?.read()) pieces.push(piece.value);
    expect(Buffer.concat(pieces).equals(content)).toBe(true);
  });
});
