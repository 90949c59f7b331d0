import type { ModelPurpose } from '../../contract/model.ts';
import type { Catalogue, CatalogueEntry } from './catalogue.ts';

const descriptions: Readonly<Record<ModelPurpose, string>> = {
  chat: 'a chat model, which computes no vectors; name an embedding model',
  embedding: 'an embedding model, which generates no text; name a chat model',
};
const maxNames = 3;

/** Why a model cannot be used for a purpose, and which can; undefined: it can be. */
export function purposeProblem(
  { name, purpose }: CatalogueEntry,
  wanted: ModelPurpose,
  { models }: Pick<Catalogue, 'models'>,
): string | undefined {
  if (purpose === wanted) return undefined;
  const fitting = [...models.values()].filter((entry) => entry.purpose === wanted).map((entry) => `"${entry.name}"`);
  const such = fitting.length > 0 ? ` such as ${fitting.slice(0, maxNames).join(', ')}` : ' of models.json';
  return `"${name}" is ${descriptions[purpose]}${such}`;
}
