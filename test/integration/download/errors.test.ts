import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Downloads, toDownloadFault } from '../../../src/inference/download/downloads.ts';
import { Fault } from '../../../src/protocol/fault.ts';
import { seededBytes, sha256, type HubFile, type ResponseFault } from '../../helpers/fakeHub.ts';
import { isSkipped } from '../../helpers/requirements.mjs';
import { useDownloadFixture, catchFault, tinyModel } from './downloadFixture.ts';

const fixture = useDownloadFixture();
const content = seededBytes(300_000);
const other = seededBytes(300_000, 5);
const page = Buffer.from('<html>login');
const owner = {};
const offerFile = (file: Partial<HubFile> = {}): void =>
  void fixture().hub.files.set('ann/tiny/model.gguf', { content, ...file });

describe('a download fails', () => {
  it('with 6001 when the server keeps failing', async () => {
    offerFile();
    fixture().hub.faults.hub.push(...Array<ResponseFault>(6).fill({ kind: 'status', status: 502 }));
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    expect(code).toBe(6001);
    expect(message).toMatch(
      /^model.gguf of ann\/tiny: localhost:\d+ answers 502; 6 tries in a row brought nothing, try later$/,
    );
    expect(fixture().waits).toHaveLength(5);
  });

  it.each([
    ['data:application/octet-stream;base64,R0dVRg==', 'data:'],
    ['file:///etc/hostname', 'file:'],
    ['ftp://127.0.0.1/model.gguf', 'ftp:'],
    ['blob:nodedata:1', 'blob:'],
  ])('with 6001 when the hub redirects to %s', async (location, scheme) => {
    offerFile({ linkedEtag: '' });
    const redirect: ResponseFault = { kind: 'status', status: 302, headers: { location } };
    for (const faults of [[redirect], []]) {
      // Once for the HEAD request, once for the GET after it.
      fixture().hub.faults.hub.push(...faults);
      fixture().hub.faults.store.push(redirect);
      const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
      expect(code).toBe(6001);
      expect(message).toMatch(new RegExp(`redirects to "${scheme}", and only http and https are followed`));
      expect(await fixture().listFiles()).not.toContain('model.gguf');
    }
  });

  it('with 6001 when the server is unreachable', async () => {
    await fixture().hub[Symbol.asyncDispose]();
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    expect(code).toBe(6001);
    expect(message).toMatch(/localhost:\d+ cannot be reached \(ECONNREFUSED\); 6 tries in a row brought nothing/);
  });

  it('with 6001 when every connection is cut and the server supports no ranges', async () => {
    offerFile();
    const responseFaults: ResponseFault[] = [{ kind: 'cut', after: 65_536 }];
    fixture().hub.faults.store.push(...Array<ResponseFault[]>(20).fill(responseFaults).flat());
    offerFile({ linkedEtag: '', etag: '' });
    expect((await catchFault(fixture().createDownloads().start(tinyModel(), owner)))[0]).toBe(6001);
    expect(fixture().hub.contentRequests()).toHaveLength(6);
  });

  it('with 6001 when its lock file cannot be read, instead of trying for ever', async () => {
    offerFile();
    await mkdir(join(fixture().folder, 'ann/tiny/model.gguf.lock'), { recursive: true });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    expect(code).toBe(6001);
    expect(message).toContain('EISDIR');
  });

  it('with 6001 when the server asks for a long wait', async () => {
    offerFile();
    fixture().hub.faults.hub.push({ kind: 'status', status: 429, headers: { 'retry-after': '86400' } });
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    expect(code).toBe(6001);
    expect(message).toContain('answers 429 and asks to wait 86400 seconds; try later');
  });

  it('with 6001 and the address of the licence when the repository is gated', async () => {
    offerFile();
    fixture().hub.gated.add('ann/tiny');
    const page = `${fixture().hub.url}/ann/tiny`;
    expect(await catchFault(fixture().createDownloads().start(tinyModel(), owner))).toEqual([
      6001,
      `the hub refuses ann/tiny (401): it is gated, private or not there; accept its licence at ${page} and set HF_TOKEN to a token of your account`,
    ]);
    const wrong = fixture().createDownloads({ env: { ...fixture().env, HF_TOKEN: 'hf_other' } });
    expect(await catchFault(wrong.start(tinyModel(), owner))).toEqual([
      6001,
      `the hub refuses ann/tiny (401): accept its licence at ${page} with the account that HF_TOKEN belongs to, or set another HF_TOKEN`,
    ]);
  });

  it('with 6002 when the hub has no such file', async () => {
    const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(), owner));
    expect(code).toBe(6002);
    expect(message).toBe(`the hub has no model.gguf of ann/tiny; look at ${fixture().hub.url}/ann/tiny`);
  });

  it.each([
    ['is offline', { HF_HUB_OFFLINE: '1' }, 'nothing is downloaded while HF_HUB_OFFLINE is set'],
    [
      'has an endpoint with a password',
      { HF_ENDPOINT: 'http://me:hf_secret@localhost' },
      'HF_ENDPOINT must be an address like https://host, without a password, not "http://***@localhost"',
    ],
    [
      'has an endpoint without its scheme',
      { HF_ENDPOINT: 'localhost:8080' },
      'HF_ENDPOINT must be an address like https://host, without a password, not "localhost:8080"',
    ],
    [
      'has an endpoint that cannot be read, with a password',
      { HF_ENDPOINT: 'http//me:hf_secret@host' },
      'not "***@host"',
    ],
    ['has a token for an endpoint', { HF_ENDPOINT: 'hf_secret' }, 'not "hf_***"'],
    [
      'has a token with invalid characters',
      { HF_TOKEN: 'hf_sec\nret' },
      'HF_TOKEN has characters in it that no token has',
    ],
  ])('with 6002, without a request, when the environment %s', async (_, env, sentence) => {
    const [code, message] = await catchFault(
      fixture()
        .createDownloads({ env: { ...fixture().env, ...env } })
        .start(tinyModel(), owner),
    );
    expect([code, message]).toEqual([6002, expect.stringContaining(sentence)]);
    expect(message).not.toContain('secret');
    expect(fixture().hub.requests).toEqual([]);
  });

  it.each([
    ['no repository', { variants: [{ revision: 'main', files: ['a.gguf'] }] }, 'has no huggingface_repo'],
    ['a repository that is a path', tinyModel({ huggingface_repo: '../../..' }), 'must be OWNER/NAME'],
    ['a repository that is an address', tinyModel({ huggingface_repo: 'https://x.y/z' }), 'must be OWNER/NAME'],
    ['a file above the repository', tinyModel({ files: ['../../x.gguf'] }), 'without ".."'],
    ['an absolute file', tinyModel({ files: ['/etc/x.gguf'] }), 'must be a path within'],
    ['a file with backslashes', tinyModel({ files: ['..\\x.gguf'] }), 'must be a path within'],
    ['a file on another drive', tinyModel({ files: ['c:x.gguf'] }), 'must be a path within'],
    ['a file that is a device on Windows', tinyModel({ files: ['NUL.gguf'] }), 'is a device on Windows'],
    ['a folder whose end Windows drops', tinyModel({ files: ['.. /x.gguf'] }), 'Windows drops a dot or space'],
    ['a repository that is a device', tinyModel({ huggingface_repo: 'ann/aux' }), 'is a device on Windows'],
    ['a revision that leads out', tinyModel({ revision: '..' }), 'its revision ".." is invalid'],
  ])('with 6002, without a request, for an entry with %s', async (_, entry, sentence) => {
    const source = { ...tinyModel(), ...entry };
    const downloads = fixture().createDownloads();
    expect(await catchFault(downloads.start(source, owner))).toEqual([6002, expect.stringContaining(sentence)]);
    expect(await downloads.readStatus(source)).toBe('ABSENT');
    expect(fixture().hub.requests).toEqual([]);
    expect(await fixture().listFiles()).toEqual([]);
  });

  it('with 6003, before a byte is downloaded, when the disk has too little space', async () => {
    offerFile();
    const [code, message] = await catchFault(
      fixture()
        .createDownloads({ freeBytes: async () => 50e6 })
        .start(tinyModel(), owner),
    );
    expect(code).toBe(6003);
    expect(message).toContain(
      'has 50.0 MB free, and 67.4 MB are needed: 0.3 MB to fetch, and 67.1 MB that stay free for others; make room, or choose another folder with --models',
    );
    expect(fixture().hub.contentRequests()).toEqual([]);
  });

  it('with 6003 when a file of unknown size would fill the disk down to the reserve', async () => {
    offerFile({ content: seededBytes(40 * 2 ** 20), linkedEtag: '', linkedBytes: NaN, chunked: true });
    let calls = 0;
    const freeBytes = async (): Promise<number> => (calls++ === 0 ? 1e12 : 60e6);
    const [code, message] = await catchFault(fixture().createDownloads({ freeBytes }).start(tinyModel(), owner));
    expect([code, message]).toEqual([6003, expect.stringContaining('has 60.0 MB free, and 67.1 MB are needed')]);
  });

  it('with 6003, keeping the partial file, when the disk fills up during the download', async () => {
    const big = seededBytes(40 * 2 ** 20);
    offerFile({ content: big });
    let calls = 0;
    const freeBytes = async (): Promise<number> => (calls++ === 0 ? 1e12 : 1e6);
    expect((await catchFault(fixture().createDownloads({ freeBytes }).start(tinyModel(), owner)))[0]).toBe(6003);
    expect(await fixture().createDownloads().readKeptBytes(tinyModel())).toBeGreaterThanOrEqual(16 * 2 ** 20);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(await fixture().createDownloads().readStatus(tinyModel())).toBe('DOWNLOADED');
  });

  it('with 6003 when a write finds the disk full, and with 6001 when a folder cannot be written', async () => {
    const full = Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC', syscall: 'write' });
    expect(toDownloadFault(full, '/models')).toMatchObject({
      code: 6003,
      message: 'the disk of /models is full; what came so far is kept',
    });
    offerFile();
    await writeFile(fixture().folder, 'a file where the folder should be');
    expect(await catchFault(fixture().createDownloads().start(tinyModel(), owner))).toEqual([
      6001,
      expect.stringMatching(
        /models cannot be written or read: a file is in the place of a folder \(EEXIST\); choose another folder with --models$/,
      ),
    ]);
  });

  it('with 6001 and the reason when a path is not writable, with a hint only for the models folder', () => {
    const thrown = (code: string, path?: string): Error => Object.assign(new Error(code), { code, path });
    const messageOf = (code: string, path?: string): string =>
      toDownloadFault(thrown(code, path), '/data/models').message;
    expect(messageOf('EROFS', '/data')).toBe(
      '/data cannot be written or read: its disk is read-only (EROFS); choose another folder with --models',
    );
    expect(messageOf('EACCES', '/data/models/ann')).toBe(
      '/data/models/ann cannot be written or read: it is not permitted (EACCES); choose another folder with --models',
    );
    expect(messageOf('EIO')).toBe(
      '/data/models cannot be written or read: the system refuses it (EIO); choose another folder with --models',
    );
    expect(messageOf('EACCES', '/data/models2/own.gguf')).toBe(
      '/data/models2/own.gguf cannot be written or read: it is not permitted (EACCES)',
    );
  });

  it.skipIf(isSkipped('unwritableFolder'))('with 6001 when the folder cannot be created', async () => {
    offerFile();
    const downloads = new Downloads('/proc/turngraph', { env: fixture().env });
    expect(await catchFault(downloads.start(tinyModel(), owner))).toEqual([
      6001,
      '/proc/turngraph cannot be written or read: it is not there, and cannot be made (ENOENT); choose another folder with --models',
    ]);
  });

  it.each<[string, Partial<HubFile>, { readonly sha256?: string; readonly size_bytes?: number }, ResponseFault[]]>([
    ['another content than the hub reports', { content: other, linkedEtag: sha256(content) }, {}, []],
    ['another content than the catalogue names', { content: other, linkedEtag: '' }, { sha256: sha256(content) }, []],
    ['fewer bytes than the hub reports', {}, {}, [{ kind: 'short', bytes: 200_000 }]],
    ['more bytes than the hub reports', { linkedEtag: '', linkedBytes: 200_000 }, {}, []],
    ['no model, without any hash', { content: page, linkedEtag: '', direct: true }, {}, []],
    ['no model, whose hash the hub reports', { content: page }, {}, []],
    ['nothing at all', { content: Buffer.alloc(0), linkedEtag: '' }, {}, []],
  ])('with 6005, and quarantines the file, when it receives %s', async (_, file, overrides, responseFaults) => {
    offerFile(file);
    fixture().hub.faults.store.push(...responseFaults);
    const downloads = fixture().createDownloads();
    const [code, message] = await catchFault(downloads.start(tinyModel(overrides), owner));
    expect(code).toBe(6005);
    expect(message).toMatch(/ it is set aside as \S+model.gguf.bad[,;] /);
    expect(await fixture().listFiles()).toEqual(['model.gguf.bad']);
    expect(await downloads.readStatus(tinyModel(overrides))).toBe('ABSENT');
  });

  it('with a hint that fits the cause', async () => {
    const [downloads, bad] = [fixture().createDownloads(), join(fixture().folder, 'ann', 'tiny', 'model.gguf.bad')];
    const prefix = 'model.gguf of ann/tiny came with';
    offerFile({ content: page, linkedEtag: '' });
    expect((await catchFault(downloads.start(tinyModel(), owner)))[1]).toBe(
      `${prefix} "<htm" at its start instead of "GGUF": it is no model; it is set aside as ${bad}; look into it, for a hub or a network that wants a login answers with a page`,
    );
    const [actual, expected] = [sha256(other), sha256(content)];
    offerFile({ content: other, linkedEtag: '' });
    expect((await catchFault(downloads.start(tinyModel({ sha256: expected }), owner)))[1]).toBe(
      `${prefix} SHA-256 ${actual} instead of ${expected}; it is set aside as ${bad}, download it again, or correct the hash in the catalogue`,
    );
    offerFile({ content: other, linkedEtag: expected });
    expect((await catchFault(downloads.start(tinyModel(), owner)))[1]).toBe(
      `${prefix} SHA-256 ${actual} instead of ${expected}; it is set aside as ${bad}, download it again`,
    );
  });

  it.each([
    ['SHA-256', { sha256: 'f'.repeat(64) }, `instead of ${'f'.repeat(64)}`],
    ['size', { size_bytes: 5 }, '300000 bytes instead of 5'],
  ])(
    'with 6005, before a byte is downloaded, when the hub reports another %s than the catalogue',
    async (_, overrides, sentence) => {
      offerFile();
      const [code, message] = await catchFault(fixture().createDownloads().start(tinyModel(overrides), owner));
      expect([code, message]).toEqual([6005, expect.stringContaining(sentence)]);
      expect(fixture().hub.contentRequests()).toEqual([]);
    },
  );

  it('with 6011 when it is cancelled, and the next one resumes from there', async () => {
    offerFile();
    const stop = new AbortController();
    fixture().hub.faults.store.push({ kind: 'stall', after: 131_072 });
    const cancelled = catchFault(fixture().createDownloads().start(tinyModel(), owner, { signal: stop.signal }));
    while ((await fixture().createDownloads().readKeptBytes(tinyModel())) < 131_072) await sleep(5);
    stop.abort();
    expect(await cancelled).toEqual([6011, 'the download of "Tiny" was cancelled; what came so far is kept']);
    const kept = await fixture().createDownloads().readKeptBytes(tinyModel());
    expect(kept).toBe(131_072);
    await fixture().createDownloads().start(tinyModel(), owner);
    expect(fixture().hub.contentRequests()[1]?.headers.range).toBe(`bytes=${kept}-`);
    expect((await readFile(join(fixture().folder, 'ann/tiny/model.gguf'))).equals(content)).toBe(true);
  });

  it('with a message that contains neither the token nor the signature of an address', async () => {
    offerFile();
    fixture().hub.gated.add('ann/tiny');
    fixture().hub.faults.store.push(...Array<ResponseFault>(6).fill({ kind: 'status', status: 500 }));
    const downloads = fixture().createDownloads({ env: { ...fixture().env, HF_TOKEN: 'hf_secret' } });
    const thrown: unknown = await downloads.start(tinyModel(), owner).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Fault);
    const texts: string[] = [];
    for (let error = thrown; error instanceof Error; error = error.cause)
      texts.push(error.message, String(error.stack));
    expect(texts.join('\n')).not.toContain('secret');
  });

  it('with 2001 once the downloads are closed', async () => {
    const downloads = new Downloads(fixture().folder, { env: fixture().env });
    await downloads[Symbol.asyncDispose]();
    expect((await catchFault(downloads.start(tinyModel(), owner)))[0]).toBe(2001);
  });
});
