import { basename } from 'node:path';
import { referencesOf } from '../../graph/compile/document.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import { findRecordsPath, maxFileBytes } from '../../graph/storage/knowledge/knowledgeFile.ts';
import { kindOfFile, readBytes } from '../../graph/storage/storageFile.ts';
import type { CheckedGraph } from '../checkedGraphs.ts';
import type { BundleFile } from './bundlePart.ts';

/** A graph that goes into a bundle. */
export type BundledGraph = Pick<CheckedGraph, 'path' | 'document' | 'storageRoot'>;

/** The graphs folder of a bundle: the graphs, and the storage files that they name. */
export async function graphFiles(graphs: readonly BundledGraph[]): Promise<readonly BundleFile[]> {
  const files: [path: string, source: string][] = [];
  for (const { path, document, storageRoot } of graphs) {
    files.push([basename(path), path]);
    const root = new StorageRoot(storageRoot);
    for (const name of referencesOf(document).storages) {
      const file = await root.find(name);
      // A name without a file is that of a storage that the client creates.
      if (file === undefined) continue;
      files.push([name.replaceAll('\\', '/'), file]);
      if (kindOfFile(name) !== 'KNOWLEDGE') continue;
      const recordsPath = await findRecordsPath(name, await readBytes(file, name, maxFileBytes));
      const recordsFile = recordsPath === undefined ? undefined : await root.find(recordsPath);
      if (recordsPath !== undefined && recordsFile !== undefined)
        files.push([recordsPath.replaceAll('\\', '/'), recordsFile]);
    }
  }
  return filesWithoutConflict('graphs', files);
}

/** Files below a folder of a bundle. @throws Error when two of them have the same place. */
export function filesWithoutConflict(
  folder: string,
  files: readonly (readonly [path: string, source: string])[],
): readonly BundleFile[] {
  const sources = new Map<string, string>();
  for (const [name, source] of files) {
    const path = `${folder}/${name}`;
    const other = sources.get(path);
    if (other !== undefined && other !== source)
      throw new Error(`${other} and ${source} would both be ${path} in the bundle: rename one of them`);
    sources.set(path, source);
  }
  return [...sources].map(([path, source]) => ({ path, content: { copyOf: source } }));
}

/** The embedding models that storage files of graphs name, and that their nodes search by. @throws Fault of a file. */
export async function storageModels(graphs: readonly BundledGraph[]): Promise<readonly string[]> {
  const models = new Set<string>();
  for (const { document, storageRoot } of graphs) {
    const root = new StorageRoot(storageRoot);
    const storages = new SessionStorages(root, Infinity);
    for (const name of referencesOf(document).withOwnModel) {
      // A name without a file is that of a storage that the client creates.
      if ((await root.find(name)) === undefined) continue;
      const { knowledge } = await storages.find(name);
      if (knowledge?.embeddingModel !== undefined) models.add(knowledge.embeddingModel);
    }
  }
  return [...models];
}
