import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { bundledPath } from '../../../base/packageFiles.ts';
import { readCatalogueFile, type Catalogue, type CatalogueEntry } from './catalogue.ts';

/**
 * Reads a catalogue file, and adds the bundled models unless it has `"extends": false`: an entry of the file replaces the
 * bundled one of its name, also when it has errors. The `local_path` of a bundled entry becomes absolute.
 * @throws Fault UNKNOWN_MODEL when a file as a whole cannot be read, with the place of each error.
 */
export async function readCatalogue(path: string, bundled = bundledPath('models.json')): Promise<Catalogue> {
  const { extends: isExtended, ...own } = await readCatalogueFile(path);
  // An application may ship without the bundled catalogue.
  if (!isExtended || !existsSync(bundled) || realpathSync(path) === realpathSync(bundled)) return own;
  const base = await readCatalogueFile(bundled);
  const isReplaced = (name: string): boolean => own.models.has(name) || own.rejected.has(name);
  const added = [...base.models].filter(([name]) => !isReplaced(name));
  return {
    models: new Map([
      ...own.models,
      ...added.map(([name, entry]) => [name, withAbsolutePaths(entry, bundled)] as const),
    ]),
    problems: [...own.problems, ...base.problems],
    rejected: new Map([...[...base.rejected].filter(([name]) => !isReplaced(name)), ...own.rejected]),
  };
}

function withAbsolutePaths(entry: CatalogueEntry, catalogue: string): CatalogueEntry {
  const variants = entry.variants.map(({ local_path: path, ...variant }) =>
    path === undefined ? variant : { ...variant, local_path: resolve(dirname(catalogue), path) },
  );
  return { ...entry, variants };
}
