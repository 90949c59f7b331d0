import type { KnowledgeEntry } from '../../storage/knowledge/knowledge.ts';

/** The metadata of an entry. */
export type Metadata = KnowledgeEntry['metadata'];

/** A filter on the metadata of entries, as `readFilter` reads it. */
export interface EntryFilter {
  /** The variables that it takes from the turn. */
  readonly variables: ReadonlySet<string>;
  /**
   * The filter for one search. A condition whose variable is missing, or is a text that is no value of the field's type,
   * holds for no entry; neither does its negation.
   */
  bind(variables: Readonly<Record<string, string>>): (metadata: Metadata) => boolean;
}

/**
 * Whether a condition holds for an entry. undefined: it cannot be told, as the entry lacks the field; then its negation
 * cannot be told either, as with NULL in SQL.
 */
export type Outcome = boolean | undefined;

/** A condition for one search. */
export type Condition = (metadata: Metadata) => Outcome;

/** A condition that still waits for the values of its variables. */
export type OpenCondition = (variables: Readonly<Record<string, string>>) => Condition;

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
