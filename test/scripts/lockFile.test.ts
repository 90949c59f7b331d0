import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { repositoryPath } from '../helpers/server.ts';

type Ranges = Readonly<Record<string, string>>;
interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dependencies?: Ranges;
  readonly devDependencies?: Ranges;
  readonly optionalDependencies?: Ranges;
}
type Packages = Readonly<Record<string, LockEntry>>;

const read = async <T>(file: string): Promise<T> => JSON.parse(await readFile(repositoryPath(file), 'utf8')) as T;

/** The entry that Node would find for a package from a folder of the lock file. */
function findEntry(packages: Packages, from: string, name: string): LockEntry | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const entry = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    if (entry !== undefined || folder === '') return entry;
  }
}

/** Dependencies, optional ones included, without an entry, or with another version than an exact one that is asked for. */
const findGaps = (packages: Packages): readonly string[] =>
  Object.entries(packages).flatMap(([path, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).flatMap(([name, range]) => {
      const version = findEntry(packages, path, name)?.version;
      if (version === undefined) return [`${path}: ${name} has no entry`];
      return /^\d+\.\d+\.\d+$/.test(range) && version !== range ? [`${path}: ${name} is ${version}, not ${range}`] : [];
    }),
  );

describe.each(['', 'scripts/api-reference/'])('%spackage-lock.json', (folder) => {
  it('has an entry for every dependency, also for the platform packages of other systems', async () => {
    const { packages } = await read<{ packages: Packages }>(`${folder}package-lock.json`);
    expect(findGaps(packages)).toEqual([]);
  });

  it('is that of package.json', async () => {
    const { packages } = await read<{ packages: Packages }>(`${folder}package-lock.json`);
    const { dependencies, devDependencies } = await read<LockEntry>(`${folder}package.json`);
    expect(packages['']).toMatchObject({
      ...(dependencies && { dependencies }),
      ...(devDependencies && { devDependencies }),
    });
  });

  it('has a hash of every package, and no address', async () => {
    const { packages } = await read<{ packages: Packages }>(`${folder}package-lock.json`);
    const entries = Object.entries(packages).filter(([path]) => path !== '');
    expect(entries.filter(([, { integrity }]) => integrity === undefined)).toEqual([]);
    const addresses = entries.flatMap(([, { resolved }]) => resolved ?? []);
    expect(addresses).toEqual([]);
  });
});

describe('the check of a lock file', () => {
  it.each([
    'node_modules/@node-llama-cpp/win-x64',
    'node_modules/@oxlint/binding-win32-arm64-msvc',
    'node_modules/@oxc-parser/binding-darwin-x64',
    'node_modules/ws',
  ])('notices that %s is missing', async (path) => {
    const { packages } = await read<{ packages: Packages }>('package-lock.json');
    expect(packages).toHaveProperty([path]);
    const { [path]: removed, ...rest } = packages;
    expect(findGaps(rest)).toContainEqual(expect.stringContaining(`${path.replace('node_modules/', '')} has no entry`));
    expect(findGaps({ ...rest, [path]: { ...removed, version: '0.0.1' } }).length).toBe(path.endsWith('/ws') ? 0 : 1);
  });
});
