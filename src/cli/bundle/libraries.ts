import { existsSync } from 'node:fs';
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../base/jsonTypes.ts';
import { libraryPackagesOf, type BundleGpu, type BundlePlatform } from './platforms.ts';
import { findInstalled, readPackage, type PlacedPackage } from './productionPackages.ts';

/** An npm package with the llama.cpp library of one system. */
export interface LibraryPackage extends PlacedPackage {
  /** The release of llama.cpp in it; "" = it does not say. */
  readonly release: string;
}

/** Which library, and where it is. */
export interface LibraryOptions {
  readonly platform: BundlePlatform;
  readonly gpu: BundleGpu;
  /** A folder in which npm installed it; "" = where the other packages are. */
  readonly folder: string;
}

/** Finds the llama.cpp library of a system. @throws Error with the npm command that gets it, where it is missing. */
export async function findLibraries(
  packages: readonly PlacedPackage[],
  { platform, gpu, folder }: LibraryOptions,
): Promise<readonly LibraryPackage[]> {
  const user = packages.find(({ name }) => name === 'node-llama-cpp');
  if (!user) throw new Error('the npm package node-llama-cpp is not installed: run npm ci again');
  const names = libraryPackagesOf(platform, gpu);
  const wanted = names.map((name) => `${name}@${user.version}`);
  // Without --force npm refuses a package of another system.
  const remedy =
    `run npm install --prefix libraries --no-save --ignore-scripts --force ${wanted.join(' ')} ` +
    'and give --libraries libraries';
  return Promise.all(
    names.map(async (name) => {
      const place = folder === '' ? await findInstalled(name, user.folder) : await findIn(folder, name);
      const where = folder === '' ? '' : ` in ${folder}`;
      if (place === undefined) throw new Error(`the npm package ${name} is not installed${where}: ${remedy}`);
      const found = await readPackage(place);
      if (found.version !== user.version)
        throw new Error(`${place} has version ${found.version}; node-llama-cpp needs ${user.version}: ${remedy}`);
      return { ...found, path: name, release: await readRelease(place) };
    }),
  );
}

async function findIn(folder: string, name: string): Promise<string | undefined> {
  const place = [join(folder, 'node_modules', name), join(folder, name)].find((path) =>
    existsSync(join(path, 'package.json')),
  );
  return place && realpath(place);
}

async function readRelease(folder: string): Promise<string> {
  for (const bin of await readdir(join(folder, 'bins'))) {
    const text = await readFile(join(folder, 'bins', bin, '_nlcBuildMetadata.json'), 'utf8').catch(() => '{}');
    const { buildOptions } = JSON.parse(text) as { readonly buildOptions?: { readonly llamaCpp?: unknown } };
    const llama = buildOptions?.llamaCpp;
    if (isObject(llama) && typeof llama['release'] === 'string') return llama['release'];
  }
  return '';
}
