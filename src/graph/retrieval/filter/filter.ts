import type { KnowledgeEntry, ScalarType } from '../../storage/knowledge/knowledge.ts';

export type Scalar = string | number | boolean;

/** What a field holds: a value, or a list of them. */
export type Held = Scalar | readonly Scalar[];

/** The value of a field, if any. @param types of the literals that it is compared with; none if no literal counts. */
export type ValueOf = (name: string, types: ReadonlySet<ScalarType>) => Held | undefined;

export const metadataFields =
  (metadata: KnowledgeEntry['metadata']): ValueOf =>
  (name) =>
    Object.hasOwn(metadata, name) ? metadata[name] : undefined;

/** What waits for the values of the variables of a turn. */
export type Open<Bound> = (variables: Readonly<Record<string, string>>) => Bound;

/** A filter on the metadata of entries or on other values, as `readFilter` reads it. */
export interface EntryFilter {
  readonly fields: ReadonlySet<string>;
  /** The variables that it takes from the turn. */
  readonly variables: ReadonlySet<string>;
  /** The filter for one search. A condition on a missing or wrong variable never holds, nor does its negation. */
  readonly bind: Open<(valueOf: ValueOf) => boolean>;
}

/** Whether a condition holds. undefined: the entry lacks the field; its negation is undefined then, as NULL in SQL. */
export type Outcome = boolean | undefined;

/** A condition that still waits for the values of its variables. */
export type OpenCondition = Open<(valueOf: ValueOf) => Outcome>;

/** The outcome of the opposite. */
export const negate = (outcome: Outcome): Outcome => (outcome === undefined ? undefined : !outcome);

/** Holds when the condition fails, and fails when it holds. */
export const not =
  (condition: OpenCondition): OpenCondition =>
  (variables) => {
    const bound = condition(variables);
    return (valueOf) => negate(bound(valueOf));
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
    return (valueOf) => {
      let isKnown = true;
      for (const condition of bound) {
        const outcome = condition(valueOf);
        if (outcome === decisive) return decisive;
        if (outcome === undefined) isKnown = false;
      }
      return isKnown ? !decisive : undefined;
    };
  };
