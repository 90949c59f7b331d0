import { escapePointerToken } from '../../../jsonPointer.ts';
import { type SchemaError } from '../../../schema.ts';
import { text, type Rule } from '../rule.ts';

/** A JSON Schema as it was given. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A place in a schema, where something may be refused. */
export class SchemaCursor {
  readonly pointer: string;
  /** How deep in the schema it is. */
  readonly depth: number;
  readonly #refusals: SchemaError[];

  constructor(errors: SchemaError[], pointer = '', depth = 0) {
    this.#refusals = errors;
    this.pointer = pointer;
    this.depth = depth;
  }

  /** A place within this one. */
  child(...tokens: readonly (string | number)[]): SchemaCursor {
    return new SchemaCursor(this.#refusals, this.pointer + tokens.map(escapePointerToken).join(''), this.depth + 1);
  }

  /** Takes down what stands here that a grammar cannot hold to, and gives a rule to go on with. */
  addError(message: string): Rule {
    this.#refusals.push({ pointer: this.pointer, message });
    return text('');
  }

  /** Takes down a keyword. */
  addKeywordError(keyword: string, why = 'which a grammar cannot express'): Rule {
    return this.child(keyword).addError(`is "${keyword}", ${why}`);
  }
}
