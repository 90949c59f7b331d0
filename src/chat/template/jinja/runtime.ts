import type { StepBudget } from './stepBudget.ts';
import type { CallArguments, PythonFunction, Value } from './values/values.ts';

/** What filters and tests need of the interpreter. */
export interface JinjaRuntime {
  readonly budget: StepBudget;
  /** @throws Error when there is no filter of this name. */
  applyFilter(name: string, value: Value, args: CallArguments): Value;
  /** @throws Error when there is no test of this name. */
  applyTest(name: string, value: Value, args: CallArguments): boolean;
}

/** A filter: `value | name(args)`. */
export type JinjaFilter = PythonFunction<Value, JinjaRuntime>;

/** A test: `value is name(args)`. */
export type JinjaTest = PythonFunction<Value, JinjaRuntime, boolean>;
