import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DownloadProgress } from '../../../src/download/progress.ts';
import { seededBytes, sha256, type HubFile, type ResponseFault } from '../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from './scene.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const scene = useDownloadFixture();
const content = seededBytes(300_000);
const owner = {};
const offers = (file: Partial<HubFile> = {}, path = 'ann/tiny/model.gguf'): void =>
  void scene().hub.files.set(path, { content, ...file });
const path = (file = 'model.gguf'): string => join(scene().folder, 'ann', 'tiny', file);

describe('a download', () => {
  it('puts the file in its place, records it, and leaves nothing else behind', async () => {
    offers();
    const downloads = scene().createDownloads();
    const heard: DownloadProgress[] = [];
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    const done = await downloads.start(tinyModel(), owner, { onProgress: (progress) => heard.push(progress) });
    expect(done).toEqual({ bytes: content.length });
    expect((await readFile(path())).equals(content)).toBe(true);
    expect(heard.at(-1)).toEqual({ phase: 'DOWNLOADING', bytesDone: 300_000, bytesTotal: 300_000, fraction: 1 });
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
    expect(await downloads.findFile(tinyModel())).toBe(path());
    expect(await scene().listFiles()).toEqual(['downloads.json', 'model.gguf']);
    const { files } = JSON.parse(await readFile(join(scene().folder, 'downloads.json'), 'utf8')) as { files: object };
    expect(files).toEqual({
      'ann/tiny/model.gguf': {
        bytes: 300_000,
        sha256: sha256(content),
        commit: 'commit-of-main',
        completed: expect.any(String) as unknown,
      },
    });
  });

  it('fetches nothing that is there', async () => {
    offers();
    await scene().createDownloads().start(tinyModel(), owner);
    expect(await scene().createDownloads().start(tinyModel(), owner)).toEqual({ bytes: content.length });
    expect(scene().hub.contentRequests()).toHaveLength(1);
  });

  it('fetches all files of a split model, with one progress over all', async () => {
    const files = ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'];
    offers({}, `ann/tiny/${files[0]}`);
    offers({ content: seededBytes(100_000, 2) }, `ann/tiny/${files[1]}`);
    const heard: DownloadProgress[] = [];
    const split = tinyModel({ files });
    const downloads = scene().createDownloads();
    await downloads.start(split, owner, { onProgress: (progress) => heard.push(progress) });
    expect(new Set(heard.map(({ bytesTotal }) => bytesTotal))).toEqual(new Set([400_000]));
    expect(heard.at(-1)).toMatchObject({ bytesDone: 400_000, fraction: 1 });
    expect(await downloads.findFile(split)).toBe(path(files[0]));
  });

  it('keeps another revision in a folder of its own', async () => {
    offers();
    await scene().createDownloads().start(tinyModel(), owner);
    const other = tinyModel({ revision: 'refs/pr/1' });
    expect(await scene().createDownloads().readStatus(other)).toBe('ABSENT');
    await scene().createDownloads().start(other, owner);
    expect(await scene().createDownloads().findFile(other)).toContain(join('ann', 'tiny@refs%2Fpr%2F1', 'model.gguf'));
    expect(scene().hub.contentRequests()[1]?.path).toBe('/ann/tiny/resolve/refs%2Fpr%2F1/model.gguf');
  });

  it('takes a file from a hub that delivers it itself', async () => {
    offers({ direct: true });
    await scene().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('shows the token to the hub and to nobody else', async () => {
    offers();
    scene().hub.gated.add('ann/tiny');
    await scene()
      .createDownloads({ env: { ...scene().env, HF_TOKEN: 'hf_secret' } })
      .start(tinyModel(), owner);
    const shown = scene().hub.requests.map(({ host, headers }) => `${host} ${headers.authorization ?? 'nothing'}`);
    expect(new Set(shown)).toEqual(new Set(['hub Bearer hf_secret', 'store nothing']));
    expect(shown.at(-1)).toBe('store nothing');
  });
});

describe('a download that is disturbed', () => {
  const cut: ResponseFault = { kind: 'cut', after: 100_000 };

  it('goes on where the connection was cut', async () => {
    offers();
    scene().hub.faults.store.push(cut, cut);
    await scene().createDownloads().start(tinyModel(), owner);
    const ranges = scene()
      .hub.contentRequests()
      .map(({ headers }) => headers.range);
    expect(ranges).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
    expect(
      new Set(
        scene()
          .hub.contentRequests()
          .slice(1)
          .map(({ headers }) => headers['if-range']),
      ),
    ).toEqual(new Set([`"${sha256(content).slice(0, 32)}"`]));
    expect(scene().hub.bytesServed).toBe(content.length);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('goes on when nothing has come for a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    offers();
    scene().hub.faults.store.push({ kind: 'stall', after: 65_536 });
    const troubles: string[] = [];
    const onRetry = (sentence: string): void => void troubles.push(sentence);
    const downloads = scene().createDownloads({ stallMs: 200 });
    const done = downloads.start(tinyModel(), owner, { onRetry });
    while ((await downloads.readKeptBytes(tinyModel())) < 65_536) await sleep(1);
    while (troubles.length === 0) {
      vi.advanceTimersByTime(200);
      await sleep(1);
    }
    await done;
    expect(troubles).toEqual([
      expect.stringMatching(/^model.gguf of ann\/tiny: nothing came for 0.2 seconds; trying again in \d+ s$/),
    ]);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('goes on after the process has ended, from what an earlier one left', async () => {
    offers();
    scene().hub.faults.store.push(cut);
    expect((await catchFault(scene().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner)))[0]).toBe(6001);
    expect(await scene().listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    expect(await scene().createDownloads().readKeptBytes(tinyModel())).toBe(100_000);
    await scene().createDownloads().start(tinyModel(), owner);
    expect(scene().hub.bytesServed).toBe(content.length);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over when the server sends the whole file instead of the rest', async () => {
    offers();
    scene().hub.faults.store.push(cut, { kind: 'whole' });
    await scene().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over when the file has become another one between two parts', async () => {
    offers();
    scene().hub.faults.store.push(cut);
    await catchFault(scene().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    const other = seededBytes(280_000, 7);
    offers({ content: other });
    await scene().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over when the file becomes another one, and shorter, while it is fetched', async () => {
    offers();
    const other = seededBytes(90_000, 7);
    scene().hub.faults.store.push(cut);
    const onRetry = (): void => offers({ content: other });
    await scene().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over when only the delivering host knows that it is another file', async () => {
    offers({ linkedTag: '' });
    scene().hub.faults.store.push(cut);
    const other = seededBytes(300_000, 7);
    const onRetry = (): void => offers({ content: other, linkedTag: '' });
    await scene().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over after 416', async () => {
    offers();
    scene().hub.faults.store.push(cut, { kind: 'status', status: 416 });
    await scene().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over where nothing says that two halves are of one file', async () => {
    offers({ linkedTag: '', tag: '' });
    scene().hub.faults.store.push(cut);
    await scene().createDownloads().start(tinyModel(), owner);
    expect(
      scene()
        .hub.contentRequests()
        .map(({ headers }) => headers.range),
    ).toEqual([undefined, undefined]);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('trusts no part whose notes are missing', async () => {
    offers();
    scene().hub.faults.store.push(cut);
    await catchFault(scene().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    await writeFile(path('model.gguf.part.json'), '{"repo": "ann/ti');
    await writeFile(path('model.gguf.part'), seededBytes(100_000, 9));
    await scene().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('trusts what was flushed, and nothing behind it, when the machine has gone down', async () => {
    offers();
    scene().hub.faults.store.push(cut);
    await catchFault(scene().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    const notes = JSON.parse(await readFile(path('model.gguf.part.json'), 'utf8')) as { bootedAt: number };
    await writeFile(path('model.gguf.part.json'), JSON.stringify({ ...notes, bootedAt: notes.bootedAt - 3600 }));
    await writeFile(path('model.gguf.part'), Buffer.alloc(50_000), { flag: 'a' });
    await scene().createDownloads().start(tinyModel(), owner);
    expect(scene().hub.contentRequests()[1]?.headers.range).toBe('bytes=100000-');
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('waits as long as the server asks', async () => {
    offers();
    const status = (code: number, headers: Readonly<Record<string, string>> = {}): ResponseFault => ({
      kind: 'status',
      status: code,
      headers,
    });
    scene().hub.faults.hub.push(status(429, { 'retry-after': '7' }), status(503));
    scene().hub.faults.store.push(status(429, { 'retry-after': '11' }), status(500), status(403));
    await scene().createDownloads().start(tinyModel(), owner);
    expect(scene().waits).toHaveLength(5);
    expect(scene().waits).toEqual(expect.arrayContaining([7000, 11_000]));
  });
});
