import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { mkdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { DownloadProgress } from '../../../src/inference/download/progress.ts';
import { seededBytes, sha256 } from '../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from './downloadFixture.ts';
import type { Downloads } from '../../../src/inference/download/downloads.ts';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const offerFile = (): void => void fixture().hub.files.set('ann/tiny/model.gguf', { content });
const path = (file = 'model.gguf'): string => join(fixture().folder, 'ann', 'tiny', file);
const hold = (): void => void (fixture().hub.maxBytesSent = 131_072);
const release = (): void => void (fixture().hub.maxBytesSent = Infinity);

/** Waits until the part that the hub sends before `release` is on disk. */
async function untilHeld(downloads: Downloads): Promise<void> {
  while ((await downloads.readKeptBytes(tinyModel())) < 131_072) await sleep(5);
}

describe('several requests for the same model', () => {
  it('share one download, and each receives its progress', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    const updates: DownloadProgress[][] = [[], []];
    const pending = updates.map((list) =>
      downloads.start(tinyModel(), {}, { onProgress: (progress) => list.push(progress) }),
    );
    expect(await Promise.all(pending)).toEqual([{ bytes: 300_000 }, { bytes: 300_000 }]);
    expect(updates.map((list) => list.at(-1)?.fraction)).toEqual([1, 1]);
    expect(fixture().hub.contentRequests()).toHaveLength(1);
  });

  it('share one download of a file that the catalogue has under two names', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await Promise.all([downloads.start(tinyModel(), {}), downloads.start({ ...tinyModel(), name: 'Wee' }, {})]);
    expect(fixture().hub.contentRequests()).toHaveLength(1);
  });

  it('receive the progress immediately when they join later', async () => {
    offerFile();
    hold();
    const downloads = fixture().createDownloads();
    const first = downloads.start(tinyModel(), {});
    await untilHeld(downloads);
    const updates: DownloadProgress[] = [];
    const second = downloads.start(tinyModel(), {}, { onProgress: (progress) => updates.push(progress) });
    expect(updates).toHaveLength(1);
    release();
    await Promise.all([first, second]);
  });

  it('are rejected when their owner is the same', async () => {
    offerFile();
    const [downloads, owner] = [fixture().createDownloads(), {}];
    const first = downloads.start(tinyModel(), owner);
    expect(await catchFault(downloads.start(tinyModel(), owner))).toEqual([6004, 'you are downloading "Tiny" already']);
    expect(await first).toEqual({ bytes: 300_000 });
  });

  it('are cancelled one by one, and the download continues for the others', async () => {
    offerFile();
    hold();
    const downloads = fixture().createDownloads();
    const [one, other] = [{}, {}];
    const leaving = downloads.start(tinyModel(), one);
    const staying = downloads.start(tinyModel(), other);
    await untilHeld(downloads);
    expect(downloads.cancel('Tiny', one)).toBe(true);
    expect((await catchFault(leaving))[0]).toBe(6011);
    expect(downloads.cancel('Tiny', one)).toBe(false);
    release();
    expect(await staying).toEqual({ bytes: 300_000 });
  });

  it('stop the download when the last one is cancelled, and can start it again immediately', async () => {
    offerFile();
    hold();
    const [downloads, owner] = [fixture().createDownloads(), {}];
    const first = catchFault(downloads.start(tinyModel(), owner));
    await untilHeld(downloads);
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADING');
    expect(downloads.cancel('Wee', owner)).toBe(false);
    expect(downloads.cancel('Tiny', owner)).toBe(true);
    const second = downloads.start(tinyModel(), owner);
    expect((await first)[0]).toBe(6011);
    release();
    expect(await second).toEqual({ bytes: 300_000 });
    expect(fixture().hub.contentRequests()[1]?.headers.range).toBe('bytes=131072-');
  });

  it('fail when the downloads are closed, and the partial file is kept', async () => {
    offerFile();
    hold();
    const downloads = fixture().createDownloads();
    const pending = catchFault(downloads.start(tinyModel(), {}));
    await untilHeld(downloads);
    await downloads[Symbol.asyncDispose]();
    expect((await pending)[0]).toBe(6011);
    expect(await fixture().listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
  });
});

describe('two processes', () => {
  const lockPath = (): string => path('model.gguf.lock');
  const lockBy = async (pid: number, host = hostname()): Promise<void> => {
    await mkdir(dirname(lockPath()), { recursive: true });
    await writeFile(lockPath(), JSON.stringify({ pid, host, token: 'theirs' }));
  };
  const deadPid = async (): Promise<number> => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    return child.pid ?? 0;
  };

  it('do not download the same file: the error of the second one names the first', async () => {
    offerFile();
    await lockBy(process.ppid);
    const downloads = fixture().createDownloads();
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADING');
    expect(await catchFault(downloads.start(tinyModel(), {}))).toEqual([
      6004,
      `process ${process.ppid} works on ${path()} already; wait for it, or end it (its lock is ${lockPath()})`,
    ]);
    expect(fixture().hub.contentRequests()).toEqual([]);
  });

  it('on two machines do not either, as long as the lock file is refreshed', async () => {
    offerFile();
    await lockBy(1, 'elsewhere');
    expect(await catchFault(fixture().createDownloads().start(tinyModel(), {}))).toEqual([
      6004,
      expect.stringContaining('process 1 on elsewhere works on'),
    ]);
    await utimes(lockPath(), 0, 0);
    expect(await fixture().createDownloads().start(tinyModel(), {})).toEqual({ bytes: 300_000 });
  });

  it.each([
    ['that has ended', deadPid],
    ['that had the number of this one before', async () => process.pid],
  ])('ignore the lock of a process %s', async (_, pid) => {
    offerFile();
    await lockBy(await pid());
    const downloads = [fixture().createDownloads(), fixture().createDownloads()];
    expect(await downloads[0]?.readStatus(tinyModel())).toBe('ABSENT');
    expect(await downloads[0]?.start(tinyModel(), {})).toEqual({ bytes: 300_000 });
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
  });

  it('both record the downloads that they completed', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) fixture().hub.files.set(`ann/${name}/model.gguf`, { content });
    // They wait for nothing but the lock of the manifest.
    const wait = async (): Promise<void> => {
      while (existsSync(join(fixture().folder, 'downloads.json.lock'))) await sleep(1);
    };
    await Promise.all(
      names.map((name) =>
        fixture()
          .createDownloads({ wait })
          .start(tinyModel({ huggingface_repo: `ann/${name}` }), {}),
      ),
    );
    const manifest = JSON.parse(await readFile(join(fixture().folder, 'downloads.json'), 'utf8')) as { files: object };
    expect(Object.keys(manifest.files)).toEqual(names.map((name) => `ann/${name}/model.gguf`));
  });
});

describe('the location of a model', () => {
  it('is the folder of the user first, which is never deleted', async () => {
    offerFile();
    const own = join(fixture().folder, '..', 'own.gguf');
    await writeFile(own, content);
    const downloads = fixture().createDownloads();
    const source = { ...tinyModel({ files: ['own.gguf'] }), file: own };
    expect(await downloads.readStatus(source)).toBe('LOCAL');
    expect((await downloads.locate(source))?.files[0]).toBe(own);
    expect(await downloads.start(source, {})).toEqual({ bytes: 300_000 });
    expect(await catchFault(downloads.remove(source))).toEqual([
      6008,
      `"Tiny" is a file of your own, which is never deleted: ${own}`,
    ]);
    expect(fixture().hub.requests).toEqual([]);
    await rm(own);
    expect(await downloads.readStatus(source)).toBe('ABSENT');
  });

  it("is the cache of the hub's own programs next, which is used in place", async () => {
    const repo = join(fixture().env['HF_HUB_CACHE'] ?? '', 'models--ann--tiny');
    const [blob, snapshot] = [join(repo, 'blobs', sha256(content)), join(repo, 'snapshots', 'abc123')];
    for (const folder of [join(repo, 'refs'), dirname(blob), snapshot]) await mkdir(folder, { recursive: true });
    await writeFile(join(repo, 'refs', 'main'), 'abc123');
    await writeFile(blob, content);
    await symlink(blob, join(snapshot, 'model.gguf'));
    const downloads = fixture().createDownloads();
    expect((await downloads.locate(tinyModel()))?.files[0]).toBe(join(snapshot, 'model.gguf'));
    expect(await downloads.readStatus(tinyModel({ revision: 'abc123' }))).toBe('DOWNLOADED');
    expect(await downloads.readStatus(tinyModel({ revision: 'other' }))).toBe('ABSENT');
    expect(await downloads.readStatus(tinyModel({ sha256: 'f'.repeat(64) }))).toBe('ABSENT');
    expect(await downloads.readStatus(tinyModel({ size_bytes: 5 }))).toBe('ABSENT');
    expect(await downloads.start(tinyModel(), {})).toEqual({ bytes: 300_000 });
    expect(await downloads.verify(tinyModel())).toMatchObject([{ verdict: 'GOOD', quarantined: '' }]);
    expect((await catchFault(downloads.remove(tinyModel())))[1]).toContain(
      'is in the cache of the Hugging Face programs',
    );
    expect(fixture().hub.requests).toEqual([]);
    expect((await stat(blob)).size).toBe(300_000);
  });
});

describe('a downloaded model', () => {
  it('is deleted with its quarantined copies', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), {});
    await writeFile(path('model.gguf.bad'), 'x');
    expect(await downloads.remove(tinyModel())).toEqual({ bytes: 300_001 });
    expect(await fixture().listFiles()).toEqual(['downloads.json']);
    expect(JSON.parse(await readFile(join(fixture().folder, 'downloads.json'), 'utf8'))).toEqual({ files: {} });
    expect(await catchFault(downloads.remove(tinyModel()))).toEqual([6008, '"Tiny" is not on disk']);
  });

  it('is not deleted while it is downloaded', async () => {
    offerFile();
    hold();
    const [downloads, owner] = [fixture().createDownloads(), {}];
    const pending = catchFault(downloads.start(tinyModel(), owner));
    await untilHeld(downloads);
    expect((await catchFault(downloads.remove(tinyModel())))[0]).toBe(6004);
    downloads.cancel('Tiny', owner);
    await pending;
  });

  it.each([
    ['lost', (file: string) => rm(file)],
    ['broken', (file: string) => writeFile(file, '{"files": {"ann/tiny/mod')],
  ])('is found when downloads.json is %s', async (_, spoil) => {
    offerFile();
    await fixture().createDownloads().start(tinyModel(), {});
    await spoil(join(fixture().folder, 'downloads.json'));
    const downloads = fixture().createDownloads();
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
    expect(await downloads.verify(tinyModel())).toMatchObject([{ verdict: 'UNKNOWN', sha256: sha256(content) }]);
    expect(await downloads.verify(tinyModel())).toMatchObject([{ verdict: 'GOOD' }]);
    fixture().hub.files.set('ann/other/model.gguf', { content });
    await downloads.start(tinyModel({ huggingface_repo: 'ann/other' }), {});
    const { files } = JSON.parse(await readFile(join(fixture().folder, 'downloads.json'), 'utf8')) as { files: object };
    expect(Object.keys(files)).toEqual(['ann/other/model.gguf', 'ann/tiny/model.gguf']);
  });

  it('is quarantined when its content has changed, and downloaded again', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), {});
    await writeFile(path(), seededBytes(300_000, 3));
    const [verification] = await downloads.verify(tinyModel());
    expect(verification).toMatchObject({ verdict: 'BAD', quarantined: path('model.gguf.bad') });
    expect(verification?.why).toContain(`instead of ${sha256(content)}`);
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    await downloads.start(tinyModel(), {});
    expect(await downloads.verify(tinyModel())).toMatchObject([{ verdict: 'GOOD' }]);
  });

  it('is quarantined when it is no GGUF file, even if its hash is unknown', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), {});
    await writeFile(path(), '<html>login');
    await rm(join(fixture().folder, 'downloads.json'));
    expect(await downloads.verify(tinyModel())).toMatchObject([
      {
        verdict: 'BAD',
        why: '"<htm" at its start instead of "GGUF": it is no model',
        quarantined: path('model.gguf.bad'),
      },
    ]);
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
  });

  it('is absent when its file was truncated', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), {});
    await truncate(path(), 1000);
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    expect(await downloads.verify(tinyModel())).toMatchObject([
      { verdict: 'BAD', why: '1000 bytes instead of 300000' },
    ]);
  });

  it('is downloaded again when the catalogue names another hash', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), {});
    const other = seededBytes(200_000, 4);
    fixture().hub.files.set('ann/tiny/model.gguf', { content: other });
    const newer = tinyModel({ sha256: sha256(other), size_bytes: 200_000 });
    expect(await downloads.readStatus(newer)).toBe('ABSENT');
    await downloads.start(newer, {});
    expect((await readFile(path())).equals(other)).toBe(true);
  });
});
