import type { StepBudget } from '../stepBudget.ts';
import { toRepr, toText } from '../values/text.ts';
import type { CallArguments } from '../values/values.ts';

const field = /\{\{|\}\}|\{([^{}!:]{0,100})(?:!([rs]))?(?::([^{}]{0,100}))?\}/g;

/**
 * Python's `text.format(...)` with positions and names, without format specifications.
 * @throws Error when a value is missing, or a field has a specification.
 */
export function formatBraces(text: string, { positional, keywords }: CallArguments, budget: StepBudget): string {
  budget.spend(text.length);
  let automatic = 0;
  const formatted = text.replace(field, (match, name = '', conversion?: string, specification = '') => {
    if (match === '{{' || match === '}}') return match.charAt(0);
    if (specification !== '') throw new Error(`unsupported format specification ${JSON.stringify(specification)}`);
    const position = name === '' ? automatic++ : /^\d+$/.test(name) ? Number(name) : undefined;
    const value = position === undefined ? keywords.get(name) : positional[position];
    if (value === undefined) throw new Error(`format() has no value for the field {${name}}`);
    const replacement = conversion === 'r' ? toRepr(value, budget) : toText(value, budget);
    budget.spendText(replacement.length);
    return replacement;
  });
  budget.spendText(formatted.length);
  return formatted;
}
