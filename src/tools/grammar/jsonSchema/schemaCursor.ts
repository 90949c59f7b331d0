import { pointerToken } from '../../../jsonPointer.ts';
import { type Refusal } from '../../../schema.ts';
import { text, type Rule } from '../rule.ts';

/** A JSON Schema as it was given. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A place in a schema, where something may be refused. */
export class SchemaPlace {
  readonly pointer: string;
  /** How deep in the schema it is. */
  readonly depth: number;
  readonly #refusals: Refusal[];

  constructor(refusals: Refusal[], pointer = '', depth = 0) {
    this.#refusals = refusals;
    this.pointer = pointer;
    this.depth = depth;
  }

  /** A place within this one. */
  in(...tokens: readonly (string | number)[]): SchemaPlace {
    return new SchemaPlace(this.#refusals, this.pointer + tokens.map(pointerToken).join(''), this.depth + 1);
  }

  /** Takes down what stands here that a grammar cannot hold to, and gives a rule to go on with. */
  refuse(message: string): Rule {
    this.#refusals.push({ pointer: this.pointer, message });
    return text('');
  }

  /** Takes down a keyword. */
  refuseKeyword(keyword: string, why = 'which a grammar cannot express'): Rule {
    return this.in(keyword).refuse(`is "${keyword}", ${why}`);
  }
}
