import { existsSync } from 'node:fs';
import { readdir, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isObject } from '../../base/jsonTypes.ts';
import { type BundleGpu, type BundlePlatform, libraryPackagesOf } from './platforms.ts';

/** An installed npm package. */
export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** What its package.json says; "" = nothing. */
  readonly license: string;
  /** Its author as package.json names them; "" = none. */
  readonly author: string;
  /** Where it is installed, symbolic links followed. */
  readonly folder: string;
}

/** An npm package, and its place below the node_modules of a bundle: `a`, `@b/c`, `a/node_modules/d`. */
export interface PlacedPackage extends NpmPackage {
  readonly path: string;
}

/**
 * The package in a folder and all that it needs to run, each with its place. Optional dependencies are left out: they are for
 * one system, or only make something faster.
 * @throws Error that names a package that is not installed.
 */
export async function findProductionPackages(root: string): Promise<readonly PlacedPackage[]> {
  const first = await readManifest(root);
  const placed = new Map([[first.name, first]]);
  // The map grows while it is read. All packages of one dependent are placed before those that they need: what is placed later
  // never hides them.
  for (const [dependent, manifest] of placed) {
    for (const name of [...manifest.needs, ...manifest.peers]) {
      const folder = await findInstalled(name, manifest.folder);
      if (folder === undefined) {
        if (manifest.peers.includes(name)) continue;
        throw new Error(`the npm package ${name}, which ${manifest.name} needs, is not installed: run npm ci again`);
      }
      const visible = findVisible(placed, dependent, name);
      if (visible?.folder === folder) continue;
      const path = visible === undefined ? name : `${dependent}/node_modules/${name}`;
      placed.set(path, await readManifest(folder));
    }
  }
  const packages = [...placed].map(([path, manifest]) => ({ ...manifest, path }));
  return packages.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The folder of a package as Node finds it from a folder, symbolic links followed; undefined where it is not installed. */
async function findInstalled(name: string, from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpath(candidate);
    if (dirname(folder) === folder) return undefined;
  }
}

function findVisible(placed: ReadonlyMap<string, NpmPackage>, dependent: string, name: string): NpmPackage | undefined {
  const parents = dependent.split('/node_modules/');
  for (let depth = parents.length; depth >= 0; depth -= 1) {
    const found = placed.get([...parents.slice(0, depth), name].join('/node_modules/'));
    if (found) return found;
  }
  return undefined;
}

/** Reads the package.json of a folder. @throws the system's error; SyntaxError. */
async function readManifest(folder: string) {
  const json: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const fields = isObject(json) ? json : {};
  const namesIn = (field: string): readonly string[] => Object.keys(Object(fields[field]) as object).toSorted();
  const optional = new Set(namesIn('optionalDependencies'));
  const peerSettings = Object(fields['peerDependenciesMeta']) as Readonly<Record<string, { optional?: boolean }>>;
  return {
    name: String(fields['name']),
    version: String(fields['version']),
    license: textOf(fields['license'], 'type'),
    author: textOf(fields['author'], 'name'),
    folder: await realpath(folder),
    /** Names of the packages that it needs to run, sorted. */
    needs: namesIn('dependencies').filter((name) => !optional.has(name)),
    /** Names of those that it uses if they are there. */
    peers: namesIn('peerDependencies').filter((name) => peerSettings[name]?.optional !== true),
  };
}

function textOf(value: unknown, member: string): string {
  if (typeof value === 'string') return value;
  const text = isObject(value) ? value[member] : undefined;
  return typeof text === 'string' ? text : '';
}

/**
 * Finds the packages with the llama.cpp library of a system, and the release of llama.cpp in each; "" = it does not say.
 * @param folder in which npm installed it; "" = where the other packages are.
 * @throws Error with the npm command that gets it, where it is missing.
 */
export async function findLibraries(
  packages: readonly PlacedPackage[],
  platform: BundlePlatform,
  gpu: BundleGpu,
  folder: string,
) {
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
      const found = await readManifest(place);
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
