import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import fs, { type FileHandle, open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createGrowing } from '../../../../src/graph/storage/growingStorage.ts';
import type { KnowledgeEntry } from '../../../../src/graph/storage/knowledge/knowledge.ts';
import { MemoryFile } from '../../../../src/graph/storage/memoryFile.ts';
import { memoryFolder } from '../../../../src/graph/storage/memoryFolder.ts';
import { failFiles, renameAsWindows } from '../../../helpers/failingFiles.ts';
import { isSkipped } from '../../../helpers/requirements.mjs';
import { SmallDisk } from '../../../helpers/smallDisk.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'turngraph-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const entryOf = (id: string, text = `Fact ${id}`): KnowledgeEntry => ({
  id,
  text,
  metadata: { act: 2 },
  keys: [],
  always: false,
});

/** A storage in a file, as a session opens it. */
async function openFile(path = join(folder, 'facts.jsonl'), maxBytes = 1e6) {
  const file = new MemoryFile(path, 'facts', maxBytes);
  const entries = await file.open().catch(async (error: unknown) => {
    await file[Symbol.asyncDispose]();
    throw error;
  });
  const storage = createGrowing(entries ?? [], (...change) => file.write(...change));
  const change = (added: readonly KnowledgeEntry[], removed: readonly string[] = []) =>
    storage.change(
      () => ({ added, removed }),
      () => undefined,
    );
  return { storage, change, path, [Symbol.asyncDispose]: () => file[Symbol.asyncDispose]() };
}
/** What a server would find that opened the file now. */
async function idsIn(path = join(folder, 'facts.jsonl')): Promise<readonly string[]> {
  const copy = join(folder, 'copy.jsonl');
  copyFileSync(path, copy);
  try {
    await using opened = await openFile(copy);
    return opened.storage.keys;
  } finally {
    rmSync(copy);
  }
}

/** Lets writes to files fail after some bytes, until it is disposed of. */
async function failWrites(
  code: string,
  methods: readonly ('write' | 'datasync' | 'sync' | 'truncate')[],
  bytes = 10,
): Promise<Disposable> {
  const handle = await open(join(folder, 'probe'), 'w');
  await handle.close();
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  const originals = methods.map((name) => [name, prototype[name]] as const);
  for (const [name, original] of originals)
    Object.assign(prototype, {
      async [name](this: FileHandle, ...given: never[]) {
        const [buffer, offset, , position] = given as unknown as readonly [Buffer, number, number, number];
        if (name === 'write') await Reflect.apply(original, this, [buffer, offset, bytes, position]);
        throw Object.assign(new Error(code), { code });
      },
    });
  return { [Symbol.dispose]: () => void Object.assign(prototype, Object.fromEntries(originals)) };
}

/** Lets a folder that was opened fail to close, until it is disposed of. */
function failToClose(path: string): Disposable {
  const original = fs.open;
  const failing = async (...given: Parameters<typeof original>): Promise<FileHandle> => {
    const handle = await original(...given);
    const close = handle.close.bind(handle);
    const fail = () => close().then(() => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })));
    return given[0] === path ? Object.assign(handle, { close: fail }) : handle;
  };
  const set = (open: typeof original): void => {
    Object.assign(fs, { open });
    syncBuiltinESMExports();
  };
  set(failing);
  return { [Symbol.dispose]: () => set(original) };
}

describe('the file of a storage that is kept', () => {
  it('has a JSON line for each change, and gives the entries back in order', async () => {
    {
      await using opened = await openFile();
      await opened.change([entryOf('a'), entryOf('b')]);
      await opened.change([entryOf('a', 'Another fact')], ['b']);
      await opened.change([entryOf('c')]);
    }
    expect(
      readFileSync(join(folder, 'facts.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      { turngraph: 'memory', version: 1 },
      { add: [entryOf('a'), entryOf('b')] },
      { add: [entryOf('a', 'Another fact')], remove: ['b'] },
      { add: [entryOf('c')] },
    ]);
    await using again = await openFile();
    expect(again.storage.entries).toEqual([entryOf('a', 'Another fact'), entryOf('c')]);
    if (process.platform !== 'win32') expect(statSync(again.path).mode & 0o777).toBe(0o600);
  });

  it.each(['{"add": [{"id": "x", "te', '\0\0\0', '{"add": []}'])(
    'drops a last line without an end: %j',
    async (torn) => {
      {
        await using opened = await openFile();
        await opened.change([entryOf('a')]);
        appendFileSync(opened.path, torn);
      }
      expect(await idsIn()).toEqual(['a']);
      {
        await using opened = await openFile();
        await opened.change([entryOf('b')]);
      }
      expect(await idsIn()).toEqual(['a', 'b']);
    },
  );

  it('is refused with its line where it is damaged, and stays as it is', async () => {
    const path = join(folder, 'facts.jsonl');
    const header = '{"turngraph":"memory","version":1}\n';
    for (const [text, message] of [
      ['{"turngraph":"memory","version":2}\n', 'line 1: is not {"turngraph":"memory","version":1}'],
      [`${header}{"add":[{"id":"a"}]}\n`, 'line 2: add[0].text is missing'],
      [`${header}{"add":[\n{}\n`, 'line 2: is not valid JSON'],
      [`${header}[]\n`, 'line 2: is no JSON object'],
      ...['{"add":{}}', '{"add":[null]}', '{"add":null}', '{"remove":5}', '{"remove":"ab"}', '{"remove":[1]}'].map(
        (line) => [`${header}${line}\n`, 'line 2: add must be a list of entries, and remove a list of ids'] as const,
      ),
    ] as const) {
      writeFileSync(path, text);
      await expect(openFile()).rejects.toMatchObject({
        name: 'INVALID_STRING_STORAGE_DATA',
        message: expect.stringContaining(`the memory of "facts", ${message}`) as string,
      });
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
  });

  it('is written anew when most of it is stale, and when all entries are removed', async () => {
    // Windows replaces no file that is open.
    using _ = renameAsWindows();
    await using opened = await openFile();
    for (let round = 0; round < 200; round++)
      await opened.change([entryOf('a', `${round} ${'x'.repeat(2000)}`), entryOf(`${round % 3}`)]);
    expect(statSync(opened.path).size).toBeLessThan(100_000);
    expect(await idsIn()).toEqual(opened.storage.keys);
    await opened.change([], opened.storage.keys);
    expect(readFileSync(opened.path, 'utf8')).toBe('{"turngraph":"memory","version":1}\n');
    expect([await idsIn(), readdirSync(folder).toSorted()]).toEqual([[], ['facts.jsonl', 'facts.jsonl.lock']]);
  });

  it('takes no more bytes than are allowed, and nothing of what is beyond', async () => {
    const path = join(folder, 'small.jsonl');
    await using opened = await openFile(path, 2000);
    for (let round = 0; round < 9; round++) await opened.change([entryOf('a', `${round} ${'x'.repeat(900)}`)]);
    await expect(opened.change([entryOf('b', 'y'.repeat(1100))])).rejects.toMatchObject({
      name: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('more than 2000 bytes') as string,
    });
    await opened.change([entryOf('c', 'z')]);
    expect([opened.storage.keys, await idsIn(path)]).toEqual([
      ['a', 'c'],
      ['a', 'c'],
    ]);
  });

  it.each([
    ['a full disk', 'ENOSPC', ['write'], 'INSUFFICIENT_DISK_SPACE'],
    ['a full disk that cannot be cut, either', 'ENOSPC', ['write', 'truncate'], 'INSUFFICIENT_DISK_SPACE'],
    ['a disk that does not take what was written', 'EIO', ['datasync', 'sync'], 'INTERNAL'],
  ] as const)('is as it was after %s', async (_, code, methods, name) => {
    await using opened = await openFile();
    await opened.change([entryOf('a'), entryOf('z')]);
    const before = readFileSync(opened.path, 'utf8');
    {
      using failing = await failWrites(code, methods);
      void failing;
      await expect(opened.change([entryOf('b')])).rejects.toMatchObject({
        name,
        message: expect.stringMatching(/^the memory of "facts" cannot be written: .*; nothing has changed$/) as string,
      });
      await expect(opened.change([], ['a'])).rejects.toMatchObject({ name });
    }
    expect([opened.storage.keys, await idsIn()]).toEqual([
      ['a', 'z'],
      ['a', 'z'],
    ]);
    if (!(methods as readonly string[]).includes('truncate')) expect(readFileSync(opened.path, 'utf8')).toBe(before);
    await opened.change([entryOf('c')]);
    expect([opened.storage.keys, await idsIn()]).toEqual([
      ['a', 'z', 'c'],
      ['a', 'z', 'c'],
    ]);
  });

  it('is cleared on a full disk, too, unless that takes no change at all', async () => {
    const path = join(folder, 'facts.jsonl');
    // As an editor leaves it.
    writeFileSync(path, `{"turngraph": "memory", "version": 1}\r\n${JSON.stringify({ add: [entryOf('a')] })}\n`);
    await using opened = await openFile();
    {
      using failing = await failWrites('ENOSPC', ['write', 'truncate']);
      void failing;
      await expect(opened.change([], ['a'])).rejects.toMatchObject({ name: 'INSUFFICIENT_DISK_SPACE' });
    }
    expect([opened.storage.keys, await idsIn()]).toEqual([['a'], ['a']]);
    {
      using failing = await failWrites('ENOSPC', ['write']);
      void failing;
      await opened.change([], ['a']);
    }
    expect([opened.storage.keys, await idsIn()]).toEqual([[], []]);
    expect(readFileSync(path, 'utf8')).toBe('{"turngraph": "memory", "version": 1}\r\n');
    await opened.change([entryOf('b')]);
    expect([opened.storage.keys, await idsIn()]).toEqual([['b'], ['b']]);
  });

  it.each(['ENOSPC', 'EROFS', 'EACCES'])('is read where no lock can be written (%s), and not changed', async (code) => {
    {
      await using opened = await openFile();
      await opened.change([entryOf('a'), entryOf('b')]);
    }
    const before = readFileSync(join(folder, 'facts.jsonl'), 'utf8');
    using failing = failFiles(code, (path) => path.endsWith('.lock'), ['open']);
    void failing;
    await using opened = await openFile();
    expect(opened.storage.keys).toEqual(['a', 'b']);
    for (const [added, removed] of [[[entryOf('c')], []] as const, [[], ['a', 'b']] as const])
      await expect(opened.change(added, removed)).rejects.toMatchObject({
        name: code === 'ENOSPC' ? 'INSUFFICIENT_DISK_SPACE' : 'INTERNAL',
        message: expect.stringMatching(/^the memory of "facts" cannot be written: .*; nothing has changed$/) as string,
      });
    expect([opened.storage.keys, readFileSync(opened.path, 'utf8')]).toEqual([['a', 'b'], before]);
    await expect(openFile(join(folder, 'new.jsonl'))).rejects.toThrow('the memory of "facts" cannot be written');
  });

  it('lets entries be removed when it is as large as it may be, also those that were added together', async () => {
    const path = join(folder, 'small.jsonl');
    await using opened = await openFile(path, 20_000);
    for (const count of [40, 1]) {
      const addMany = (round: number) =>
        opened.change(Array.from({ length: count }, (_, at) => entryOf(`${count} ${round} ${at}`)));
      const isTaken = (round: number) =>
        addMany(round).then(
          () => true,
          () => false,
        );
      for (let round = 0; await isTaken(round); round++);
    }
    const ids = opened.storage.keys;
    expect(ids.length).toBeGreaterThan(150);
    for (const id of ids.slice(0, 120)) await opened.change([], [id]);
    expect([await idsIn(path), statSync(path).size < 20_000]).toEqual([ids.slice(120), true]);
  });

  it('is the new one once that has its name, whatever its folder answers then', async () => {
    await using opened = await openFile();
    await opened.change([entryOf('a', 'x'.repeat(100_000))]);
    for (const id of ['b', 'c']) {
      using failing = failToClose(folder);
      void failing;
      await opened.change([entryOf('a', 'short'), entryOf(id)]);
      expect(await idsIn()).toEqual(opened.storage.keys);
    }
  });

  it.skipIf(isSkipped('memoryDisk'))('keeps what was acknowledged on a real disk that is full', async () => {
    await using disk = await SmallDisk.mount(256);
    await using opened = await openFile(join(disk.folder, 'facts.jsonl'));
    await opened.change([entryOf('a')]);
    let refused = 0;
    for (let round = 0; round < 80; round++)
      await opened.change([entryOf(`${round}`, 'x'.repeat(8000))]).catch(({ name }: Error) => {
        expect(name).toBe('INSUFFICIENT_DISK_SPACE');
        refused++;
      });
    expect(refused).toBeGreaterThan(40);
    expect(await idsIn(opened.path)).toEqual(opened.storage.keys);
  });
});

describe('the folder of storages that are kept', () => {
  it('gives a storage to one server at a time', async () => {
    const [one, two] = [memoryFolder(join(folder, 'memory'), 1e6), memoryFolder(join(folder, 'memory'), 1e6)];
    const kept = await one.use('k', 'facts', []);
    await expect(two.use('k', 'facts', [])).rejects.toMatchObject({
      name: 'STORAGE_NAME_IN_USE',
      message: expect.stringContaining('"facts" is open in another server') as string,
    });
    await (await two.use('k', 'others', [])).release();
    await kept.release();
    await (await two.use('k', 'facts', [])).release();
    writeFileSync(join(folder, 'file'), '');
    await expect(memoryFolder(join(folder, 'file'), 1e6).use('k', 'facts', [])).rejects.toMatchObject({
      message: expect.stringContaining('a file is in the place of a folder') as string,
    });
  });

  it('has files whose names tell nothing, and that no name leads out of', async () => {
    const memory = memoryFolder(join(folder, 'memory'), 1e6);
    const kept = await memory.use('../../secret', 'facts', [entryOf('a')]);
    await kept.release();
    expect(readdirSync(join(folder, 'memory'))).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.jsonl$/)]);
    expect(existsSync(join(folder, 'secret'))).toBe(false);
  });

  it('gives sessions with the same key one storage, until the last one releases it', async () => {
    const memory = memoryFolder(join(folder, 'memory'), 1e6);
    const [one, two] = await Promise.all([memory.use('k', 'facts', [entryOf('a')]), memory.use('k', 'facts', [])]);
    expect(one.storage).toBe(two.storage);
    const changing = two.storage.change(
      () => ({ added: [entryOf('b')], removed: [] }),
      () => undefined,
    );
    await Promise.all([one.release(), two.release(), changing]);
    const [again, other] = [await memory.use('k', 'facts', [entryOf('c')]), await memory.use('k', 'other', [])];
    expect([again.storage.keys, other.storage.keys]).toEqual([['a', 'b'], []]);
    await Promise.all([again.release(), other.release()]);
  });
});
