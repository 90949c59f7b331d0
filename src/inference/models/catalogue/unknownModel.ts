import { didYouMean } from '../../../base/didYouMean.ts';
import type { Catalogue } from './catalogue.ts';

/**
 * Error message for a model name that the catalogue does not have: why its entry cannot be used, or the nearest name, or
 * where to look.
 * @param detail what else was searched in vain, such as `, and there is no such file`.
 */
export function unknownModel(
  name: string,
  { models, rejected }: Pick<Catalogue, 'models' | 'rejected'>,
  detail = '',
): string {
  const problems = name === '' ? undefined : rejected.get(name);
  if (problems !== undefined) return `the catalogue has an entry "${name}", but it cannot be used: ${problems}`;
  const unnamed = rejected.get('');
  const hint =
    didYouMean(name, [...models.keys(), ...rejected.keys()].filter(Boolean)) ||
    (unnamed === undefined
      ? '; turngraph models list shows what there is'
      : `; an entry without a name is left out: ${unnamed}`);
  return `the catalogue has no model "${name}"${detail}${hint}`;
}
