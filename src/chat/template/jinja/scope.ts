import { Undefined, type Value } from './values/values.ts';

/** The variables of a template, a loop, a macro or a block. Assignments stay in it; outer variables can be read. */
export class Scope {
  readonly #variables = new Map<string, Value>();
  readonly #parent: Scope | undefined;

  constructor(parent?: Scope) {
    this.#parent = parent;
  }

  get(name: string): Value {
    for (let scope: Scope | undefined = this; scope; scope = scope.#parent) {
      const value = scope.#variables.get(name);
      if (value !== undefined) return value;
    }
    return new Undefined(`'${name}' is undefined`);
  }

  set(name: string, value: Value): void {
    this.#variables.set(name, value);
  }
}
