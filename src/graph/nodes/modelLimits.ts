import { InvalidParams } from '../compile/node.ts';
import type { Model } from '../../inference/contract/engine.ts';

/**
 * Checks that a model can decode by a grammar.
 * @param pointer the parameter that needs it.
 * @throws InvalidParams
 */
export function requireGrammars({ limits }: Pick<Model, 'limits'>, pointer: string): void {
  if (limits?.grammars === undefined) return;
  throw new InvalidParams([{ pointer, message: `cannot be had from this model: ${limits.grammars}` }]);
}

/** Checks that a model can score answers. @throws InvalidParams */
export function requireScores({ limits }: Pick<Model, 'limits'>): void {
  if (limits?.scores === undefined) return;
  throw new InvalidParams([{ pointer: '/model_name', message: `names a model that cannot be used: ${limits.scores}` }]);
}
