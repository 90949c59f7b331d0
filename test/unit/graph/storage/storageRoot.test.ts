import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { StorageRoot } from '../../../../src/graph/storage/storageRoot.ts';

describe('a storage root', () => {
  it('refuses a loop of links by the path that was sent, without its own', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await symlink('loop.txt', join(folder, 'loop.txt'));
    const thrown: unknown = await new StorageRoot(folder).find('loop.txt').catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(Fault);
    expect(thrown).toMatchObject({
      name: 'STORAGE_OUTSIDE_ROOT',
      message: 'the storage path "loop.txt" leads out of the storage folder; use a relative path without ".."',
    });
  });
});
