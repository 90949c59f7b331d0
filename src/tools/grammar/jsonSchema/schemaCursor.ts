import { escapePointerToken } from '../../../jsonPointer.ts';
import type { SchemaError } from '../../../schema.ts';
import { text, type Rule } from '../rule.ts';

/** A JSON Schema that was not yet validated. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A position in a JSON Schema; collects errors with their JSON pointers. */
export class SchemaCursor {
  readonly pointer: string;
  /** Number of steps from the root of the schema. */
  readonly depth: number;
  readonly #errors: SchemaError[];

  constructor(errors: SchemaError[], pointer = '', depth = 0) {
    this.#errors = errors;
    this.pointer = pointer;
    this.depth = depth;
  }

  /** The position of a subschema. */
  child(...tokens: readonly (string | number)[]): SchemaCursor {
    return new SchemaCursor(this.#errors, this.pointer + tokens.map(escapePointerToken).join(''), this.depth + 1);
  }

  /** Records that no grammar can express the schema at this position; returns a placeholder, so that compiling continues. */
  addError(message: string): Rule {
    this.#errors.push({ pointer: this.pointer, message });
    return text('');
  }

  /** Records a keyword that no grammar can express. */
  addKeywordError(keyword: string, why = 'which a grammar cannot express'): Rule {
    return this.child(keyword).addError(`is "${keyword}", ${why}`);
  }
}
