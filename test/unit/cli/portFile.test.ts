import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { portFileAt } from '../../../src/cli/commands/serve.ts';

describe('the port file', () => {
  it('is deleted by the server that wrote it last, and not by an earlier one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const path = join(folder, 'port.json');
    const [old, next] = [portFileAt(path), portFileAt(path)];
    await old.write('{"port":1}\n');
    await next.write('{"port":2}\n');
    await old[Symbol.asyncDispose]();
    expect(await readFile(path, 'utf8')).toBe('{"port":2}\n');
    await next[Symbol.asyncDispose]();
    expect(await readdir(folder)).toEqual([]);
    await rm(folder, { recursive: true });
  });

  it('does not follow a link in the place of its draft', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const [path, other] = [join(folder, 'port.json'), join(folder, 'other.txt')];
    await writeFile(other, 'of another program');
    await symlink(other, `${path}.part`);
    await using file = portFileAt(path);
    await file.prepare();
    await file.write('{"port":1}\n');
    expect(await readFile(other, 'utf8')).toBe('of another program');
    expect(await readFile(path, 'utf8')).toBe('{"port":1}\n');
    await rm(folder, { recursive: true });
  });

  it('of a killed server is deleted before the next one listens, that of a running one is not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const path = join(folder, 'port.json');
    const killed = spawnSync(process.execPath, ['--version']).pid;
    for (const [pid, exists] of [
      [killed, false],
      [process.pid, true],
      ['?', true],
    ] as const) {
      await writeFile(path, JSON.stringify({ event: 'listening', port: 1, pid }));
      await portFileAt(path).prepare();
      expect(existsSync(path), String(pid)).toBe(exists);
    }
    await rm(folder, { recursive: true });
  });
});
