import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PortFile } from '../../../src/cli/portFile.ts';

describe('the port file', () => {
  it('is deleted by the server that wrote it last, and not by an earlier one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const path = join(folder, 'port.json');
    const [old, next] = [new PortFile(path), new PortFile(path)];
    await old.write('{"port":1}\n');
    await next.write('{"port":2}\n');
    await old[Symbol.asyncDispose]();
    expect(await readFile(path, 'utf8')).toBe('{"port":2}\n');
    await next[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });
});
