import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isObject } from '../../base/jsonTypes.ts';

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

interface Manifest extends NpmPackage {
  /** Names of the packages that it needs to run, sorted. */
  readonly needs: readonly string[];
  /** Names of those that it uses if they are there. */
  readonly peers: readonly string[];
}

/**
 * The package in a folder and all that it needs to run, each with its place. Optional dependencies are left out: they are for
 * one system, or only make something faster.
 * @throws Error that names a package that is not installed.
 */
export async function findProductionPackages(root: string): Promise<readonly PlacedPackage[]> {
  const first = await readManifest(root);
  const placed = new Map<string, PlacedPackage>([[first.name, { ...first, path: first.name }]]);
  const queue: { readonly path: string; readonly manifest: Manifest }[] = [{ path: first.name, manifest: first }];
  // All packages of one dependent are placed before those that they need: what is placed later never hides them.
  for (const { path: dependent, manifest } of queue) {
    for (const name of [...manifest.needs, ...manifest.peers]) {
      const folder = await findInstalled(name, manifest.folder);
      if (folder === undefined) {
        if (manifest.peers.includes(name)) continue;
        throw new Error(`the npm package ${name}, which ${manifest.name} needs, is not installed: run npm ci again`);
      }
      const visible = findVisible(placed, dependent, name);
      if (visible?.folder === folder) continue;
      const path = visible === undefined ? name : `${dependent}/node_modules/${name}`;
      const found = await readManifest(folder);
      placed.set(path, { ...found, path });
      queue.push({ path, manifest: found });
    }
  }
  return [...placed.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** The folder of a package as Node finds it from a folder, symbolic links followed; undefined where it is not installed. */
export async function findInstalled(name: string, from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return realpath(candidate);
    if (dirname(folder) === folder) return undefined;
  }
}

/** Reads the package.json of a folder. @throws the system's error; SyntaxError. */
export async function readPackage(folder: string): Promise<NpmPackage> {
  return readManifest(folder);
}

/** The package of this name that a package at this place would get. */
function findVisible(
  placed: ReadonlyMap<string, PlacedPackage>,
  dependent: string,
  name: string,
): PlacedPackage | undefined {
  const parents = dependent.split('/node_modules/');
  for (let depth = parents.length; depth > 0; depth -= 1) {
    const found = placed.get([...parents.slice(0, depth), name].join('/node_modules/'));
    if (found) return found;
  }
  return placed.get(name);
}

async function readManifest(folder: string): Promise<Manifest> {
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
    needs: namesIn('dependencies').filter((name) => !optional.has(name)),
    peers: namesIn('peerDependencies').filter((name) => peerSettings[name]?.optional !== true),
  };
}

/** A field that is a text, or an object with the text. */
function textOf(value: unknown, member: string): string {
  if (typeof value === 'string') return value;
  const text = isObject(value) ? value[member] : undefined;
  return typeof text === 'string' ? text : '';
}
