import type { Condition, OpenCondition } from './filter.ts';

/** Holds when all do; fails when one fails; else it cannot be told. */
export const allOf =
  (conditions: readonly OpenCondition[]): OpenCondition =>
  (variables) =>
    combine(bindAll(conditions, variables), false);

/** Holds when one does; fails when all fail; else it cannot be told. */
export const anyOf =
  (conditions: readonly OpenCondition[]): OpenCondition =>
  (variables) =>
    combine(bindAll(conditions, variables), true);

/** Holds when the condition fails, and fails when it holds. */
export const not =
  (condition: OpenCondition): OpenCondition =>
  (variables) => {
    const bound = condition(variables);
    return (metadata) => {
      const outcome = bound(metadata);
      return outcome === undefined ? undefined : !outcome;
    };
  };

const bindAll = (
  conditions: readonly OpenCondition[],
  variables: Readonly<Record<string, string>>,
): readonly Condition[] => conditions.map((condition) => condition(variables));

/** @param decisive the outcome of one condition that decides the whole. */
function combine(conditions: readonly Condition[], decisive: boolean): Condition {
  const [only] = conditions;
  if (only && conditions.length === 1) return only;
  return (metadata) => {
    let isKnown = true;
    for (const condition of conditions) {
      const outcome = condition(metadata);
      if (outcome === decisive) return decisive;
      if (outcome === undefined) isKnown = false;
    }
    return isKnown ? !decisive : undefined;
  };
}
