import { didYouMean } from '../../didYouMean.ts';

/**
 * Error message for a model name that the catalogue does not have, with the nearest name or where to look.
 * @param detail what else was searched in vain, such as `, and there is no such file`.
 */
export function unknownModel(name: string, models: ReadonlyMap<string, unknown>, detail = ''): string {
  const hint = didYouMean(name, models.keys()) || '; turngraph models list shows what there is';
  return `the catalogue has no model "${name}"${detail}${hint}`;
}
