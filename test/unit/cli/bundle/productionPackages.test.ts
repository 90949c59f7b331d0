import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findProductionPackages } from '../../../../src/cli/bundle/productionPackages.ts';

let root = '';
beforeEach(async () => void (root = await realpath(await mkdtemp(join(tmpdir(), 'turngraph-')))));
afterEach(() => rm(root, { recursive: true }));

async function install(path: string, manifest: object): Promise<void> {
  await mkdir(join(root, path), { recursive: true });
  await writeFile(join(root, path, 'package.json'), JSON.stringify({ name: 'game', version: '1.0.0', ...manifest }));
}

const listed = async (folder = root): Promise<readonly string[]> =>
  (await findProductionPackages(folder)).map(({ path, version }) => `${path}@${version}`);

describe('the packages of a bundle', () => {
  it('are those that the program needs to run, and no other', async () => {
    await install('', {
      dependencies: { a: '1' },
      devDependencies: { tool: '1' },
      optionalDependencies: { fast: '1' },
      peerDependencies: { peer: '1', editor: '1', absent: '1' },
      peerDependenciesMeta: { editor: { optional: true } },
    });
    for (const name of ['a', 'tool', 'fast', 'peer', 'editor', '@scope/b'])
      await install(`node_modules/${name}`, { name, dependencies: name === 'a' ? { '@scope/b': '1' } : {} });
    expect(await listed()).toEqual(['@scope/b@1.0.0', 'a@1.0.0', 'game@1.0.0', 'peer@1.0.0']);
  });

  it('keep two versions of one package apart', async () => {
    await install('', { dependencies: { a: '1', b: '1', old: '2' } });
    await install('node_modules/a', { name: 'a', dependencies: { old: '1', c: '1' } });
    await install('node_modules/a/node_modules/old', { name: 'old', version: '1.0.0', dependencies: { c: '1' } });
    await install('node_modules/b', { name: 'b', dependencies: { old: '2' } });
    await install('node_modules/old', { name: 'old', version: '2.0.0' });
    await install('node_modules/c', { name: 'c' });
    expect(await listed()).toEqual([
      'a@1.0.0',
      'a/node_modules/old@1.0.0',
      'b@1.0.0',
      'c@1.0.0',
      'game@1.0.0',
      'old@2.0.0',
    ]);
  });

  it('are found beside a package that is itself installed, and through links', async () => {
    await install('project/node_modules/game', { dependencies: { a: '1' } });
    await install('store/a', { name: 'a', version: '3.0.0' });
    await symlink(join(root, 'store/a'), join(root, 'project/node_modules/a'), 'junction');
    expect(await listed(join(root, 'project/node_modules/game'))).toEqual(['a@3.0.0', 'game@1.0.0']);
  });

  it('must be installed', async () => {
    await install('', { dependencies: { a: '1' } });
    await install('node_modules/a', { name: 'a', dependencies: { b: '1' } });
    await expect(listed()).rejects.toThrow('the npm package b, which a needs, is not installed: run npm ci again');
  });
});
