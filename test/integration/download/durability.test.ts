import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Downloads } from '../../../src/inference/download/downloads.ts';
import type { ModelSource } from '../../../src/inference/download/target.ts';
import { failFiles } from '../../helpers/failingFiles.ts';
import { seededBytes } from '../../helpers/fakeHub.ts';
import { isSkipped } from '../../helpers/requirements.mjs';
import { SmallDisk } from '../../helpers/smallDisk.ts';
import { catchFault, tinyModel, useDownloadFixture } from './downloadFixture.ts';

const fixture = useDownloadFixture();
const content = seededBytes(3_000_000);
const owner = {};
const offerFile = (): void => void fixture().hub.files.set('ann/tiny/model.gguf', { content });
const other = (): ModelSource => ({ ...tinyModel({ huggingface_repo: 'bob/other' }), name: 'Other' });
const readManifest = async (folder: string): Promise<Readonly<Record<string, unknown>>> =>
  (JSON.parse(await readFile(join(folder, 'downloads.json'), 'utf8')) as { readonly files: Record<string, unknown> })
    .files;
const listDisk = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();

describe.skipIf(isSkipped('smallDisk'))('a download to a disk that is full', () => {
  const onDisk = ({ folder }: SmallDisk): Downloads =>
    // The disk is found to be full only by a write.
    new Downloads(folder, { env: fixture().env, home: fixture().home, freeBytes: async () => 1e12 });

  it('keeps what came so far, leaves nothing else, and goes on from there when there is room', async () => {
    offerFile();
    await using disk = await SmallDisk.mount(1024);
    await using downloads = onDisk(disk);
    expect(await catchFault(downloads.start(tinyModel(), owner))).toEqual([
      6003,
      `the disk of ${disk.folder} is full; what came so far is kept`,
    ]);
    const kept = await downloads.readKeptBytes(tinyModel());
    expect(kept).toBeGreaterThan(500_000);
    expect(await listDisk(disk.folder)).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    disk.resize(8192);
    await downloads.start(tinyModel(), owner);
    expect(fixture().hub.contentRequests().at(-1)?.headers.range).toBe(`bytes=${kept}-`);
    expect((await readFile(join(disk.folder, 'ann/tiny/model.gguf'))).equals(content)).toBe(true);
  });

  it('leaves no lock behind that it could not write', async () => {
    offerFile();
    await using disk = await SmallDisk.mount(8192);
    await using downloads = onDisk(disk);
    await disk.fill();
    expect((await catchFault(downloads.start(tinyModel(), owner)))[0]).toBe(6003);
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    expect(await listDisk(disk.folder)).toEqual(['filler']);
    await disk.free();
    await downloads.start(tinyModel(), owner);
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
  });

  it('keeps the records of other models', async () => {
    offerFile();
    fixture().hub.files.set('bob/other/model.gguf', { content: seededBytes(300_000, 5) });
    await using disk = await SmallDisk.mount(4096);
    await using downloads = onDisk(disk);
    await downloads.start(other(), owner);
    const before = await readManifest(disk.folder);
    disk.resize(1024);
    expect((await catchFault(downloads.start(tinyModel(), owner)))[0]).toBe(6003);
    expect(await readManifest(disk.folder)).toEqual(before);
    expect(await downloads.readStatus(other())).toBe('DOWNLOADED');
  });
});

describe('a download without free file handles', () => {
  it('keeps the bytes of an earlier attempt', async () => {
    offerFile();
    fixture().hub.faults.store.push({ kind: 'cut', after: 1_000_000 });
    const policy = { maxAttempts: 1 };
    expect((await catchFault(fixture().createDownloads(policy).start(tinyModel(), owner)))[0]).toBe(6001);
    const kept = await fixture().createDownloads().readKeptBytes(tinyModel());
    expect(kept).toBe(1_000_000);
    {
      using _ = failFiles('EMFILE', (path) => path.endsWith('.part.json'));
      expect(await catchFault(fixture().createDownloads().start(tinyModel(), owner))).toEqual([
        6001,
        expect.stringContaining('too many files are open (EMFILE)'),
      ]);
    }
    expect(await fixture().createDownloads().readKeptBytes(tinyModel())).toBe(kept);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.contentRequests().at(-1)?.headers.range).toBe(`bytes=${kept}-`);
  });

  it('does not forget the records of other models, and finds its complete file later', async () => {
    offerFile();
    fixture().hub.files.set('bob/other/model.gguf', { content: seededBytes(300_000, 5) });
    const downloads = fixture().createDownloads();
    await downloads.start(other(), owner);
    const before = await readManifest(fixture().folder);
    {
      using _ = failFiles('EMFILE', (path) => path.endsWith('downloads.json'));
      expect(await catchFault(downloads.start(tinyModel(), owner))).toEqual([
        6001,
        expect.stringContaining('too many files are open (EMFILE)'),
      ]);
    }
    expect(await readManifest(fixture().folder)).toEqual(before);
    const requests = fixture().hub.contentRequests().length;
    await downloads.start(tinyModel(), owner);
    expect(fixture().hub.contentRequests()).toHaveLength(requests);
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
  });
});

describe('a models folder that becomes read-only during a download', () => {
  it('is named as the reason, also when the lock file cannot be deleted', async () => {
    offerFile();
    using _ = failFiles('EROFS', (path) => path.includes('model.gguf'), ['rm', 'rename']);
    expect(await catchFault(fixture().createDownloads().start(tinyModel(), owner))).toEqual([
      6001,
      expect.stringContaining('its disk is read-only (EROFS)'),
    ]);
  });
});

describe('a models folder that is read-only', () => {
  it('is verified all the same: a bad file is reported, and stays', async () => {
    offerFile();
    await fixture().createDownloads().start(tinyModel(), owner);
    await rm(join(fixture().folder, 'downloads.json'));
    using _ = failFiles('EROFS', (path) => path.startsWith(fixture().folder) && !path.endsWith('.gguf'), [
      'open',
      'rm',
    ]);
    const downloads = fixture().createDownloads();
    expect(await downloads.verify(tinyModel())).toMatchObject([{ verdict: 'UNKNOWN', quarantined: '' }]);
    expect(await downloads.verify(tinyModel({ sha256: 'f'.repeat(64) }))).toMatchObject([
      { verdict: 'BAD', quarantined: '', why: expect.stringContaining('SHA-256') as string },
    ]);
    expect(await fixture().listFiles()).toEqual(['model.gguf']);
  });
});

describe('the rest of a killed process', () => {
  it('is deleted by the next download', async () => {
    offerFile();
    const file = join(fixture().folder, 'ann/tiny/model.gguf');
    await mkdir(dirname(file), { recursive: true });
    for (const rest of ['.new', '.part', '.part.json', '.part.json.new']) await writeFile(file + rest, '{"repo":');
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
    expect((await readFile(file)).equals(content)).toBe(true);
  });

  it('is deleted with the model: the copy of a file of another program, and the draft of the resume metadata', async () => {
    offerFile();
    const downloads = fixture().createDownloads();
    await downloads.start(tinyModel(), owner);
    const file = join(fixture().folder, 'ann/tiny/model.gguf');
    for (const rest of ['.new', '.part', '.part.json', '.part.json.new']) await writeFile(file + rest, '12345');
    await downloads.remove(tinyModel());
    expect(await fixture().listFiles()).toEqual(['downloads.json']);
  });
});
