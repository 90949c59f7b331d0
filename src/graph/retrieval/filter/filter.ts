import type { KnowledgeEntry, ScalarType } from '../../storage/knowledge/knowledge.ts';

/** The metadata of an entry. */
export type Metadata = KnowledgeEntry['metadata'];

/** What waits for the values of the variables of a turn. */
export type Open<Bound> = (variables: Readonly<Record<string, string>>) => Bound;

/** The types of what a field is compared with; none where only its existence counts. */
export type FilteredField = ReadonlySet<ScalarType>;

/** A filter on the metadata of entries, as `readFilter` reads it. */
export interface EntryFilter {
  /** The fields that it has conditions on. */
  readonly fields: ReadonlyMap<string, FilteredField>;
  /** The variables that it takes from the turn. */
  readonly variables: ReadonlySet<string>;
  /**
   * The filter for one search. A condition whose variable is missing, or is a text that is no value of the field's type,
   * holds for no entry; neither does its negation.
   */
  readonly bind: Open<(metadata: Metadata) => boolean>;
}

/**
 * Whether a condition holds for an entry. undefined: it cannot be told, as the entry lacks the field; then its negation
 * cannot be told either, as with NULL in SQL.
 */
export type Outcome = boolean | undefined;

/** A condition for one search. */
type Condition = (metadata: Metadata) => Outcome;

/** A condition that still waits for the values of its variables. */
export type OpenCondition = Open<Condition>;

/** The outcome of the opposite. */
export const negate = (outcome: Outcome): Outcome => (outcome === undefined ? undefined : !outcome);

/** Holds when the condition fails, and fails when it holds. */
export const not =
  (condition: OpenCondition): OpenCondition =>
  (variables) => {
    const bound = condition(variables);
    return (metadata) => negate(bound(metadata));
  };

/** Holds when all do; fails when one fails; else it cannot be told. */
export const allOf = (conditions: readonly OpenCondition[]): OpenCondition => combine(conditions, false);

/** Holds when one does; fails when all fail; else it cannot be told. */
export const anyOf = (conditions: readonly OpenCondition[]): OpenCondition => combine(conditions, true);

/** @param decisive the outcome of one condition that decides the whole. */
const combine =
  (conditions: readonly OpenCondition[], decisive: boolean): OpenCondition =>
  (variables) => {
    const bound = conditions.map((condition) => condition(variables));
    const [only] = bound;
    if (only && bound.length === 1) return only;
    return (metadata) => {
      let isKnown = true;
      for (const condition of bound) {
        const outcome = condition(metadata);
        if (outcome === decisive) return decisive;
        if (outcome === undefined) isKnown = false;
      }
      return isKnown ? !decisive : undefined;
    };
  };
