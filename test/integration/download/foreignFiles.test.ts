import { existsSync } from 'node:fs';
import { link, lstat, mkdir, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seededBytes, sha256 } from '../../helpers/fakeHub.ts';
import { useDownloadFixture, catchFault, tinyModel } from './downloadFixture.ts';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const owner = {};
const path = (file = 'model.gguf'): string => join(fixture().folder, 'ann', 'tiny', file);
const neverAborted = new AbortController().signal;

/** Offers the file, and puts another one elsewhere, which no download may change. */
async function prepare(): Promise<string> {
  fixture().hub.files.set('ann/tiny/model.gguf', { content });
  await mkdir(path('.'), { recursive: true });
  const victim = join(fixture().folder, '..', 'victim.txt');
  await writeFile(victim, 'precious');
  return victim;
}

describe("a file at a model's place", () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['cut within its magic number', Buffer.from('GG')],
    ['a login page', Buffer.from('<html>Please log in')],
  ])('does not count as downloaded when it is %s, and is replaced by a download', async (_, bytes) => {
    await prepare();
    await writeFile(path(), bytes);
    const downloads = fixture().createDownloads();
    expect(await downloads.readStatus(tinyModel())).toBe('ABSENT');
    expect(await downloads.locate(tinyModel())).toBeUndefined();

    await downloads.start(tinyModel(), owner);
    expect((await readFile(path())).equals(content)).toBe(true);
    expect(await downloads.readStatus(tinyModel())).toBe('DOWNLOADED');
  });

  it('does not count in the Hugging Face cache either when it is empty', async () => {
    await prepare();
    const repo = join(fixture().env['HF_HUB_CACHE'] ?? '', 'models--ann--tiny');
    await mkdir(join(repo, 'snapshots', 'main'), { recursive: true });
    await writeFile(join(repo, 'snapshots', 'main', 'model.gguf'), '');
    expect(await fixture().createDownloads().readStatus(tinyModel())).toBe('ABSENT');
  });
});

describe('a symbolic link among the files of a download', () => {
  it.each(['model.gguf.part', 'model.gguf.part.json', 'model.gguf.part.json.new', 'model.gguf.lock', 'model.gguf.bad'])(
    'is not followed: %s',
    async (name) => {
      const victim = await prepare();
      await symlink(victim, path(name));
      await fixture().createDownloads().start(tinyModel(), owner);
      expect(await readFile(victim, 'utf8')).toBe('precious');
      expect((await readFile(path())).equals(content)).toBe(true);
      expect((await lstat(path())).isFile()).toBe(true);
    },
  );

  it.each(['model.gguf.part', 'model.gguf.lock', 'model.gguf.part.json.new'])(
    'to nowhere creates nothing there: %s',
    async (name) => {
      const victim = `${await prepare()}.missing`;
      await symlink(victim, path(name));
      await fixture().createDownloads().start(tinyModel(), owner);
      expect(existsSync(victim)).toBe(false);
      expect((await readFile(path())).equals(content)).toBe(true);
    },
  );

  it.each(['downloads.json.new', 'downloads.json'])('is not followed in the models folder: %s', async (name) => {
    const victim = await prepare();
    await symlink(victim, join(fixture().folder, name));
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(await readFile(victim, 'utf8')).toBe('precious');
  });

  it("does not count as kept bytes, and at the model's place it is replaced, not its target", async () => {
    const victim = await prepare();
    await symlink(victim, path('model.gguf.part'));
    expect(await fixture().createDownloads().readKeptBytes(tinyModel())).toBe(0);
    await symlink(victim, path());
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(await readFile(victim, 'utf8')).toBe('precious');
    expect((await lstat(path())).isFile()).toBe(true);
  });

  it('is not moved into place when it takes the place of the partial file during the download', async () => {
    const victim = await prepare();
    fixture().hub.maxBytesSent = 131_072;
    const swapped = new Promise<void>((resolve, reject) => {
      fixture().hub.onBytesSent = () => {
        fixture().hub.onBytesSent = () => undefined;
        rename(path('model.gguf.part'), path('elsewhere'))
          .then(() => symlink(victim, path('model.gguf.part')))
          .then(resolve, reject)
          .finally(() => (fixture().hub.maxBytesSent = Infinity));
      };
    });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    await swapped;
    expect([code, message]).toEqual([6001, expect.stringContaining('model.gguf.part')]);
    expect(existsSync(path())).toBe(false);
    expect(await readFile(victim, 'utf8')).toBe('precious');
  });
});

it('a second name (hard link) of the partial file keeps its content', async () => {
  const victim = await prepare();
  fixture().hub.faults.store.push({ kind: 'cut', after: 100_000 });
  await catchFault(fixture().createDownloads({ maxAttempts: 1 }).start(tinyModel(), owner));
  await link(path('model.gguf.part'), `${victim}.second`);
  await fixture().createDownloads().start(tinyModel(), owner);
  expect((await readFile(path())).equals(content)).toBe(true);
  expect((await readFile(`${victim}.second`)).equals(content.subarray(0, 100_000))).toBe(true);
});

describe('a verification', () => {
  it('leaves alone a good file that replaced a bad one while that was read', async () => {
    await prepare();
    await fixture().createDownloads().start(tinyModel(), owner);
    const bad = Buffer.from(content);
    bad.write('X', 200_000);
    await writeFile(path(), bad);
    await writeFile(path('good'), content);
    let replaced: Promise<void> | undefined;
    const onProgress = (): void => void (replaced ??= rename(path('good'), path()));
    const downloads = fixture().createDownloads();
    const results = await downloads.verify(tinyModel({ sha256: sha256(content) }), {
      onProgress,
      signal: neverAborted,
    });
    await replaced;
    expect(results).toMatchObject([{ verdict: 'GOOD', quarantined: '' }]);
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'model.gguf']);
    expect((await readFile(path())).equals(content)).toBe(true);
  });

  it('sets aside the link, not the file that it leads to', async () => {
    const victim = await prepare();
    await symlink(victim, path());
    const results = await fixture().createDownloads().verify(tinyModel());
    expect(results).toMatchObject([{ verdict: 'BAD', quarantined: path('model.gguf.bad') }]);
    expect(await readlink(path('model.gguf.bad'))).toBe(victim);
    expect(await readFile(victim, 'utf8')).toBe('precious');
  });
});
