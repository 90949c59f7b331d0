import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DownloadProgress } from '../../../src/inference/download/progress.ts';
import { seededBytes, sha256, type HubFile, type ResponseFault } from '../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from './downloadFixture.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const owner = {};
const offerFile = (file: Partial<HubFile> = {}, path = 'ann/tiny/model.gguf'): void =>
  void fixture().hub.files.set(path, { content, ...file });
const path = (file = 'model.gguf'): string => join(fixture().folder, 'ann', 'tiny', file);

describe('a download', () => {
  it('moves the file into place, records it, and leaves no other file', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    const updates: DownloadProgress[] = [];
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    const done = await downloads.start(tinyModel(), owner, { onProgress: (progress) => updates.push(progress) });
    expect(done).toEqual({ bytes: content.length });
    expect((await readFile(path())).equals(content)).toBe(true);
    expect(updates.at(-1)).toEqual({ phase: 'DOWNLOADING', bytesDone: 300_000, bytesTotal: 300_000, fraction: 1 });
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
    expect((await downloads.locate(tinyModel()))?.files[0]).toBe(path());
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
    const { files } = JSON.parse(await readFile(join(fixture().folder, 'downloads.json'), 'utf8')) as { files: object };
    expect(files).toEqual({
      'ann/tiny/model.gguf': {
        bytes: 300_000,
        sha256: sha256(content),
        commit: 'commit-of-main',
        completed: expect.any(String) as unknown,
      },
    });
  });

  it('downloads nothing that is on disk', async () => {
    offerFile();
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(await fixture().createDownloads().start(tinyModel(), owner)).toEqual({ bytes: content.length });
    expect(fixture().hub.contentRequests()).toHaveLength(1);
  });

  it('downloads all files of a split model, with one progress over all', async () => {
    const files = ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'];
    offerFile({}, `ann/tiny/${files[0]}`);
    offerFile({ content: seededBytes(100_000, 2) }, `ann/tiny/${files[1]}`);
    const updates: DownloadProgress[] = [];
    const split = tinyModel({ files });
    const downloads = fixture().createDownloads();
    await downloads.start(split, owner, { onProgress: (progress) => updates.push(progress) });
    expect(new Set(updates.map(({ bytesTotal }) => bytesTotal))).toEqual(new Set([400_000]));
    expect(updates.at(-1)).toMatchObject({ bytesDone: 400_000, fraction: 1 });
    expect((await downloads.locate(split))?.files[0]).toBe(path(files[0]));
  });

  it('keeps another revision in a folder of its own', async () => {
    offerFile();
    await fixture().createDownloads().start(tinyModel(), owner);
    const other = tinyModel({ revision: 'refs/pr/1' });
    expect(await fixture().createDownloads().readStatus(other)).toBe('ABSENT');
    await fixture().createDownloads().start(other, owner);
    expect((await fixture().createDownloads().locate(other))?.files[0]).toContain(
      join('ann', 'tiny@refs%2Fpr%2F1', 'model.gguf'),
    );
    expect(fixture().hub.contentRequests()[1]?.path).toBe('/ann/tiny/resolve/refs%2Fpr%2F1/model.gguf');
  });

  it('accepts a file that the hub delivers without a redirect', async () => {
    offerFile({ direct: true });
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('sends the token to the hub and to no other host', async () => {
    offerFile();
    fixture().hub.gated.add('ann/tiny');
    await fixture()
      .createDownloads({ env: { ...fixture().env, HF_TOKEN: 'hf_secret' } })
      .start(tinyModel(), owner);
    const sentTokens = fixture().hub.requests.map(
      ({ host, headers }) => `${host} ${headers.authorization ?? 'nothing'}`,
    );
    expect(new Set(sentTokens)).toEqual(new Set(['hub Bearer hf_secret', 'store nothing']));
    expect(sentTokens.at(-1)).toBe('store nothing');
  });
});

describe('an interrupted download', () => {
  const cut: ResponseFault = { kind: 'cut', after: 100_000 };

  it('resumes where the connection was cut', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut, cut);
    await fixture().createDownloads().start(tinyModel(), owner);
    const ranges = fixture()
      .hub.contentRequests()
      .map(({ headers }) => headers.range);
    expect(ranges).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
    expect(
      new Set(
        fixture()
          .hub.contentRequests()
          .slice(1)
          .map(({ headers }) => headers['if-range']),
      ),
    ).toEqual(new Set([`"${sha256(content).slice(0, 32)}"`]));
    expect(fixture().hub.bytesServed).toBe(content.length);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('resumes after a stall', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    offerFile();
    fixture().hub.faults.store.push({ kind: 'stall', after: 65_536 });
    const retries: string[] = [];
    const onRetry = (sentence: string): void => void retries.push(sentence);
    const stallMs = 200;
    const downloads = fixture().createDownloads({ stallMs });
    const done = downloads.start(tinyModel(), owner, { onRetry });
    while ((await downloads.readKeptBytes(tinyModel())) < 65_536) await sleep(1);
    while (retries.length === 0) {
      vi.advanceTimersByTime(stallMs);
      await sleep(1);
    }
    await done;
    expect(retries).toEqual([
      expect.stringMatching(
        new RegExp(`^model.gguf of ann/tiny: nothing came for ${stallMs / 1000} seconds; trying again in \\d+ s$`),
      ),
    ]);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('resumes from the partial file of an earlier process', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut);
    expect((await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner)))[0]).toBe(6001);
    expect(await fixture().listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    expect(await fixture().createDownloads().readKeptBytes(tinyModel())).toBe(100_000);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.bytesServed).toBe(content.length);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over when the server sends the whole file instead of the rest', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut, { kind: 'whole' });
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over when the file has changed between two attempts', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut);
    await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    const other = seededBytes(280_000, 7);
    offerFile({ content: other });
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over when the file changes and gets shorter during the download', async () => {
    offerFile();
    const other = seededBytes(90_000, 7);
    fixture().hub.faults.store.push(cut);
    const onRetry = (): void => offerFile({ content: other });
    await fixture().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over when only the ETag of the delivering host has changed', async () => {
    offerFile({ linkedEtag: '' });
    fixture().hub.faults.store.push(cut);
    const other = seededBytes(300_000, 7);
    const onRetry = (): void => offerFile({ content: other, linkedEtag: '' });
    await fixture().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('starts over after 416', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut, { kind: 'status', status: 416 });
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('starts over when there is no ETag to compare', async () => {
    offerFile({ linkedEtag: '', etag: '' });
    fixture().hub.faults.store.push(cut);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(
      fixture()
        .hub.contentRequests()
        .map(({ headers }) => headers.range),
    ).toEqual([undefined, undefined]);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('does not join a 206 without an ETag, of a host that ignores If-Range, to the half of another file', async () => {
    const etag = '"one"';
    offerFile({ linkedEtag: '', etag });
    fixture().hub.faults.store.push(cut);
    const other = seededBytes(300_000, 7);
    const onRetry = (): void => offerFile({ content: other, linkedEtag: '', etag: '"two"', careless: true });
    await fixture().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
  });

  it('resumes by Last-Modified where there is no ETag, and starts over when it has changed', async () => {
    const dates = ['Mon, 05 Jan 2026 10:00:00 GMT', 'Tue, 06 Jan 2026 10:00:00 GMT'] as const;
    const offer = (bytes: Buffer, lastModified: string): void =>
      offerFile({ content: bytes, linkedEtag: '', etag: '', lastModified });
    offer(content, dates[0]);
    fixture().hub.faults.store.push(cut, cut);
    const other = seededBytes(300_000, 7);
    let retries = 0;
    const onRetry = (): void => void (++retries === 2 && offer(other, dates[1]));
    await fixture().createDownloads().start(tinyModel(), owner, { onRetry });
    expect((await readFile(path())).equals(other)).toBe(true);
    const requests = fixture().hub.contentRequests();
    expect(requests.map(({ headers }) => headers.range)).toEqual([undefined, 'bytes=100000-', 'bytes=200000-']);
    expect(requests[1]?.headers['if-range']).toBe(dates[0]);
  });

  it('starts over with a weak ETag', async () => {
    offerFile({ linkedEtag: '', etag: 'W/"one"' });
    fixture().hub.faults.store.push(cut);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.contentRequests()[1]?.headers.range).toBeUndefined();
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('resumes without an ETag where a SHA-256 guards the whole', async () => {
    offerFile({ linkedEtag: '', etag: '' });
    fixture().hub.faults.store.push(cut);
    await fixture()
      .createDownloads()
      .start(tinyModel({ sha256: sha256(content) }), owner);
    expect(fixture().hub.contentRequests()[1]?.headers.range).toBe('bytes=100000-');
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('discards a partial file without valid metadata', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut);
    await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    await writeFile(path('model.gguf.part.json'), '{"repo": "ann/ti');
    await writeFile(path('model.gguf.part'), seededBytes(100_000, 9));
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('keeps only the bytes that were flushed before the machine restarted', async () => {
    offerFile();
    fixture().hub.faults.store.push(cut);
    await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
    const metadata = JSON.parse(await readFile(path('model.gguf.part.json'), 'utf8')) as { bootedAt: number };
    await writeFile(path('model.gguf.part.json'), JSON.stringify({ ...metadata, bootedAt: metadata.bootedAt - 3600 }));
    await writeFile(path('model.gguf.part'), Buffer.alloc(50_000), { flag: 'a' });
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.contentRequests()[1]?.headers.range).toBe('bytes=100000-');
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('waits as long as Retry-After says', async () => {
    offerFile();
    const status = (code: number, headers: Readonly<Record<string, string>> = {}): ResponseFault => ({
      kind: 'status',
      status: code,
      headers,
    });
    fixture().hub.faults.hub.push(status(429, { 'retry-after': '7' }), status(503));
    fixture().hub.faults.store.push(status(429, { 'retry-after': '11' }), status(500), status(403));
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().waits).toHaveLength(5);
    expect(fixture().waits).toEqual(expect.arrayContaining([7000, 11_000]));
  });
});
