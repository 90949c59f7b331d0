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
