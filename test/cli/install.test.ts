import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import module from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

const run = promisify(execFile);

describe('the command on a Node that is too old', () => {
  it('names the version that it needs', async () => {
    const source = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })`;
    const args = ['--import', `data:text/javascript,${source}`, repositoryPath('dist/cli/turngraph.js'), '--version'];
    await expect(run(process.execPath, args)).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'error: turngraph needs Node 20 or newer; this is 18.20.4\n',
    });
  });

  it('loads nothing but modules of Node before it has looked at the version', async () => {
    expect(await readFile(repositoryPath('src/cli/turngraph.ts'), 'utf8')).not.toMatch(
      /^(?:import|export) (?!.* from 'node:)/m,
    );
  });
});

describe('the compiled code of the command', () => {
  it.each([
    ['of the user', [], {}, 'user'],
    ['that --cache names', ['--cache', 'named'], { TURNGRAPH_CACHE: 'other' }, 'named'],
    ['that TURNGRAPH_CACHE names', [], { TURNGRAPH_CACHE: 'named' }, 'named'],
  ])('is kept in the cache folder %s, where Node can', async (_, args, variables, expected) => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const user = join(folder, 'user');
    const env = { ...process.env, HOME: user, XDG_CACHE_HOME: user, LOCALAPPDATA: user, ...variables };
    await run(process.execPath, [repositoryPath('dist/cli/turngraph.js'), '--version', ...args], { env, cwd: folder });
    expect(await readdir(folder)).toEqual('enableCompileCache' in module ? [expected] : []);
    await rm(folder, { recursive: true });
  });
});

describe('an install without the dev dependencies', () => {
  it('does not fail for want of a compiler', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const { stderr } = await run(process.execPath, [repositoryPath('scripts/prepare.mjs')], { cwd: folder });
    expect(stderr).toContain('the dev dependencies were left out');
    await rm(folder, { recursive: true });
  });
});
