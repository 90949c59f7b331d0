import { access } from 'node:fs/promises';
import type { CatalogueEntry } from './catalogue.ts';

/** The file of a model that is the user's own, if it is there. */
export const ownFile = async ({ file }: CatalogueEntry): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  return access(file).then(
    () => file,
    () => undefined,
  );
};
