import type { StepBudget } from './stepBudget.ts';
import type { CallArguments, Value } from './values/values.ts';

/** What filters and tests need of the interpreter. */
export interface JinjaRuntime {
  readonly budget: StepBudget;
  /** @throws Error when there is no filter of this name. */
  applyFilter(name: string, value: Value, args: CallArguments): Value;
  /** @throws Error when there is no test of this name. */
  applyTest(name: string, value: Value, args: CallArguments): boolean;
}

/** A filter: `value | name(args)`. */
export type JinjaFilter = (value: Value, args: CallArguments, runtime: JinjaRuntime) => Value;
