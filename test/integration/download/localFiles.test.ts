import { link, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Downloads } from '../../../src/inference/download/downloads.ts';
import type { LocalFile } from '../../../src/inference/download/local/findLocalFiles.ts';
import type { DownloadProgress } from '../../../src/inference/download/progress.ts';
import { seededBytes, sha256 } from '../../helpers/fakeHub.ts';
import { isSkipped } from '../../helpers/requirements.mjs';
import { catchFault, tinyModel, useDownloadFixture } from './downloadFixture.ts';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const other = seededBytes(300_000, 9);
const hash = sha256(content);
const owner = {};
const target = (): string => join(fixture().folder, 'ann', 'tiny', 'model.gguf');
const atHome = (...parts: readonly string[]): string => join(fixture().home, ...parts);

async function put(path: string, bytes: Buffer | string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  return path;
}

/** Writes a model as Ollama keeps it. */
async function putOllama(bytes: Buffer, name = 'tiny/latest'): Promise<string> {
  const digest = sha256(bytes);
  const layers = [
    { mediaType: 'application/vnd.ollama.image.license', digest: `sha256:${'0'.repeat(64)}` },
    { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${digest}` },
  ];
  const manifest = atHome('.ollama', 'models', 'manifests', 'registry.ollama.ai', 'library', ...name.split('/'));
  await put(manifest, JSON.stringify({ layers }));
  return put(atHome('.ollama', 'models', 'blobs', `sha256-${digest}`), bytes);
}

/** Writes a file as the Hugging Face programs keep it. */
async function putHubCache(bytes: Buffer, repo = 'models--eve--copy'): Promise<string> {
  const folder = join(fixture().env['HF_HUB_CACHE'] ?? '', repo);
  const blob = await put(join(folder, 'blobs', sha256(bytes)), bytes);
  await mkdir(join(folder, 'snapshots', 'abc'), { recursive: true });
  await symlink(join('..', '..', 'blobs', sha256(bytes)), join(folder, 'snapshots', 'abc', 'copy.gguf'));
  return blob;
}

const withHash = (overrides: object = {}) => tinyModel({ sha256: hash, size_bytes: content.length, ...overrides });

describe('a download whose hash the catalogue has takes the file of another program', () => {
  it.each<[string, () => Promise<string>]>([
    ['Ollama', () => putOllama(content)],
    ['Hugging Face', () => putHubCache(content)],
    ['llama.cpp', () => put(join(fixture().env['LLAMA_CACHE'] ?? '', 'ann_tiny_model.gguf'), content)],
    ['LM Studio', () => put(atHome('.lmstudio', 'models', 'bob', 'tiny-GGUF', 'any name.gguf'), content)],
  ])('of %s, offline, as a second name of it', async (program, putFile) => {
    fixture().env['LLAMA_CACHE'] = atHome('llama');
    fixture().env['HF_HUB_OFFLINE'] = '1';
    const path = await putFile();
    const [updates, files]: [DownloadProgress[], LocalFile[]] = [[], []];
    const downloads = fixture().createDownloads();
    const onProgress = (progress: DownloadProgress): void => void updates.push(progress);
    const onLocalFile = (file: LocalFile): void => void files.push(file);
    expect(await downloads.start(withHash(), owner, { onProgress, onLocalFile })).toEqual({ bytes: content.length });
    expect(files).toMatchObject([{ program, path }]);
    expect(updates.at(-1)).toMatchObject({
      phase: 'DOWNLOADING',
      bytesDone: 300_000,
      bytesTotal: 300_000,
      fraction: 1,
    });
    expect((await readFile(target())).equals(content)).toBe(true);
    expect((await stat(target())).ino).toBe((await stat(path)).ino);
    expect((await lstat(target())).isFile()).toBe(true);
    expect(await downloads.readStatus(withHash())).toBe('DOWNLOADED');
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
    const { files: records } = JSON.parse(await readFile(join(fixture().folder, 'downloads.json'), 'utf8')) as {
      files: object;
    };
    expect(records).toMatchObject({ 'ann/tiny/model.gguf': { bytes: content.length, sha256: hash } });
    expect(fixture().hub.requests).toEqual([]);
  });

  it('without a size in the catalogue, by its name', async () => {
    fixture().env['HF_HUB_OFFLINE'] = '1';
    await put(atHome('.lmstudio', 'models', 'bob', 'tiny', 'MODEL.gguf'), content);
    await fixture()
      .createDownloads()
      .start(tinyModel({ sha256: hash }), owner);
    expect((await readFile(target())).equals(content)).toBe(true);
  });

  it('and leaves no partial file of an earlier attempt', async () => {
    fixture().hub.files.set('ann/tiny/model.gguf', { content });
    fixture().hub.faults.store.push({ kind: 'cut', after: 100_000 });
    await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(withHash(), owner));
    expect(await fixture().listFiles()).toContain('model.gguf.part');
    await putOllama(content);
    await fixture().createDownloads().start(withHash(), owner);
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
  });

  it.skipIf(isSkipped('otherDisk'))('as a copy where the models folder is on another disk', async () => {
    const folder = await mkdtemp('/dev/shm/turngraph-');
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = await putOllama(content);
    const { env, home } = fixture();
    const freeBytes = async (): Promise<number> => 1000;
    const full = new Downloads(folder, { env: { ...env, HF_HUB_OFFLINE: '1' }, home, freeBytes });
    expect((await catchFault(full.start(withHash(), owner)))[0]).toBe(6003);
    await new Downloads(folder, { env: { ...env, HF_HUB_OFFLINE: '1' }, home }).start(withHash(), owner);
    const copy = join(folder, 'ann', 'tiny', 'model.gguf');
    expect((await readFile(copy)).equals(content)).toBe(true);
    expect((await stat(copy)).nlink).toBe(1);
    expect((await stat(path)).nlink).toBe(1);
    expect(await readdir(dirname(copy))).toEqual(['model.gguf']);
  });

  it('and `delete` removes only our name of it', async () => {
    const path = await putOllama(content);
    const downloads = fixture().createDownloads();
    await downloads.start(withHash(), owner);
    expect(await downloads.remove(withHash())).toEqual({ bytes: 0 });
    expect(await downloads.readStatus(withHash())).toBe('ABSENT');
    expect((await readFile(path)).equals(content)).toBe(true);
  });
});

describe('a download whose hash only the hub has', () => {
  it('takes the file of another program and records the commit', async () => {
    fixture().hub.files.set('ann/tiny/model.gguf', { content });
    await putOllama(content);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect((await readFile(target())).equals(content)).toBe(true);
    expect(fixture().hub.contentRequests()).toEqual([]);
    expect(await readFile(join(fixture().folder, 'downloads.json'), 'utf8')).toContain('commit-of-main');
  });

  it('takes the parts of a split model that are there, and downloads the others', async () => {
    const files = ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'];
    fixture().hub.files.set(`ann/tiny/${files[0]}`, { content });
    fixture().hub.files.set(`ann/tiny/${files[1]}`, { content: other });
    await putOllama(content);
    const updates: DownloadProgress[] = [];
    const onProgress = (progress: DownloadProgress): void => void updates.push(progress);
    await fixture().createDownloads().start(tinyModel({ files }), owner, { onProgress });
    expect(
      fixture()
        .hub.contentRequests()
        .map(({ path }) => path),
    ).toEqual([`/ann/tiny/resolve/main/${files[1]}`]);
    expect(updates.at(-1)).toMatchObject({ bytesDone: 600_000, bytesTotal: 600_000 });
  });
});

describe('a download does not take', () => {
  it('a file whose content is not what its name says', async () => {
    fixture().hub.files.set('ann/tiny/model.gguf', { content });
    const lie = await putOllama(content);
    await writeFile(lie, other);
    await fixture().createDownloads().start(withHash(), owner);
    expect((await readFile(target())).equals(content)).toBe(true);
    expect((await readFile(lie)).equals(other)).toBe(true);
    expect(fixture().hub.contentRequests()).toHaveLength(1);
  });

  it('a file of the same size with another hash', async () => {
    fixture().env['HF_HUB_OFFLINE'] = '1';
    const path = await put(atHome('.lmstudio', 'models', 'bob', 'tiny', 'model.gguf'), other);
    expect(await catchFault(fixture().createDownloads().start(withHash(), owner))).toEqual([
      6002,
      'nothing is downloaded while HF_HUB_OFFLINE is set',
    ]);
    expect((await readFile(path)).equals(other)).toBe(true);
    expect(await fixture().listFiles()).toEqual([]);
  });

  it('any file where no hash is known', async () => {
    fixture().hub.files.set('ann/tiny/model.gguf', { content, linkedEtag: '' });
    await put(atHome('.lmstudio', 'models', 'ann', 'tiny', 'model.gguf'), content);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.contentRequests()).toHaveLength(1);
  });

  it('what follows an aborted verification, and keeps nothing of it', async () => {
    await putOllama(content);
    const abort = new AbortController();
    const onLocalFile = (): void => abort.abort();
    const started = fixture().createDownloads().start(withHash(), owner, { signal: abort.signal, onLocalFile });
    expect((await catchFault(started))[0]).toBe(6011);
    expect(await fixture().listFiles()).toEqual([]);
  });
});

it('a download never writes into a file that has a second name', async () => {
  const path = await putOllama(content);
  await fixture().createDownloads().start(withHash(), owner);
  // The catalogue now wants another file in the same place.
  fixture().hub.files.set('ann/tiny/model.gguf', { content: other });
  await fixture()
    .createDownloads()
    .start(tinyModel({ sha256: sha256(other) }), owner);
  expect((await readFile(target())).equals(other)).toBe(true);
  expect((await readFile(path)).equals(content)).toBe(true);
});

describe('the models of other programs', () => {
  it('are found once each, with name, size and where they come from', async () => {
    fixture().env['LLAMA_CACHE'] = atHome('llama');
    const ollama = await putOllama(content);
    const hub = await putHubCache(other);
    const llama = await put(join(atHome('llama'), 'x.gguf'), content);
    const studio = await put(atHome('.lmstudio', 'models', 'bob', 'tiny', 'sub', 'x.gguf'), content);
    await put(join(atHome('llama'), 'x.gguf.json'), '{}');
    await put(join(atHome('llama'), 'empty.gguf'), '');
    await link(llama, join(atHome('llama'), 'y.gguf'));
    const { files, stores } = await fixture().createDownloads().findLocalModels();
    expect(files).toEqual([
      {
        program: 'Hugging Face',
        name: 'eve/copy/copy.gguf',
        path: hub,
        bytes: 300_000,
        sha256: sha256(other),
        source: { repo: 'eve/copy', file: 'copy.gguf' },
      },
      { program: 'llama.cpp', name: 'x.gguf', path: llama, bytes: 300_000, sha256: undefined, source: undefined },
      {
        program: 'llama.cpp',
        name: 'y.gguf',
        path: `${llama.slice(0, -6)}y.gguf`,
        bytes: 300_000,
        sha256: undefined,
        source: undefined,
      },
      {
        program: 'LM Studio',
        name: 'bob/tiny/sub/x.gguf',
        path: studio,
        bytes: 300_000,
        sha256: undefined,
        source: { repo: 'bob/tiny', file: 'sub/x.gguf' },
      },
      { program: 'Ollama', name: 'tiny:latest', path: ollama, bytes: 300_000, sha256: hash, source: undefined },
    ]);
    expect(stores.map(({ program }) => program)).toContain('Ollama');
  });

  it('are none, without an error, where no program is installed or what is there is damaged', async () => {
    fixture().env['OLLAMA_MODELS'] = atHome('o');
    await put(join(atHome('o'), 'manifests', 'r', 'n', 'm', 't'), '{"layers": [{"mediaType": 1}]}');
    await put(join(atHome('o'), 'manifests', 'r', 'n', 'm', 'u'), 'no JSON');
    await put(
      join(atHome('o'), 'manifests', 'r', 'n', 'm', 'v'),
      JSON.stringify({
        layers: [{ mediaType: 'application/vnd.ollama.image.model', digest: 'sha256:../../../../etc/passwd' }],
      }),
    );
    expect((await fixture().createDownloads().findLocalModels()).files).toEqual([]);
  });
});
