import type { Float } from '../values/values.ts';

export type Expression =
  | { readonly type: 'literal'; readonly value: string | number | boolean | null | Float }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'list' | 'tuple'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly entries: readonly (readonly [key: Expression, value: Expression])[] }
  | { readonly type: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly type: 'item'; readonly object: Expression; readonly key: Expression }
  | {
      readonly type: 'slice';
      readonly object: Expression;
      /** Start, stop and step, where they are given. */
      readonly bounds: readonly (Expression | undefined)[];
    }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: ArgumentList }
  | ({ readonly type: 'filter' | 'test'; readonly operand: Expression } & FilterCall)
  | { readonly type: 'not'; readonly operand: Expression }
  | { readonly type: 'sign'; readonly operator: '+' | '-'; readonly operand: Expression }
  | {
      readonly type: 'arithmetic';
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly type: 'concatenation'; readonly parts: readonly Expression[] }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | {
      readonly type: 'comparison';
      readonly first: Expression;
      /** `a < b < c` has two. */
      readonly rest: readonly { readonly operator: ComparisonOperator; readonly operand: Expression }[];
    }
  | {
      readonly type: 'condition';
      readonly test: Expression;
      readonly whenTrue: Expression;
      readonly whenFalse?: Expression | undefined;
    }
  /** The text that statements write in a scope of their own. */
  | { readonly type: 'block'; readonly body: readonly Statement[] }
  /** A function of a template: what a macro is, and what a call block gives to its call as `caller`. */
  | {
      readonly type: 'macro';
      readonly name: string;
      readonly parameters: readonly MacroParameter[];
      readonly body: readonly Statement[];
    };

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type ComparisonOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

/** The arguments of a call, a filter or a test, before they are evaluated. */
export interface ArgumentList {
  readonly positional: readonly Expression[];
  readonly keywords: readonly (readonly [name: string, value: Expression])[];
  /** `*args` */
  readonly spread?: Expression | undefined;
  /** `**kwargs` */
  readonly keywordSpread?: Expression | undefined;
}

/** A filter or a test without what it is applied to. */
export interface FilterCall {
  readonly name: string;
  readonly args: ArgumentList;
}

/** What `set` and `for` assign to. */
export type AssignmentTarget =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'tuple'; readonly items: readonly AssignmentTarget[] }
  | { readonly type: 'namespace'; readonly name: string; readonly attribute: string };

export interface MacroParameter {
  readonly name: string;
  readonly fallback?: Expression | undefined;
}

/** A statement of a template; plain text is one too. `offset`: where it is in the source. */
export type Statement = StatementParts & { readonly offset: number };

/** A statement without its place. */
export type StatementParts =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'output'; readonly value: Expression }
  | {
      readonly type: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: readonly Statement[] }[];
      readonly otherwise: readonly Statement[];
    }
  | ForStatement
  | { readonly type: 'set'; readonly target: AssignmentTarget; readonly value: Expression }
  | {
      readonly type: 'with';
      readonly assignments: readonly { readonly target: AssignmentTarget; readonly value: Expression }[];
      readonly body: readonly Statement[];
    }
  | { readonly type: 'break' | 'continue' };

export interface ForStatement {
  readonly type: 'for';
  readonly target: AssignmentTarget;
  readonly iterable: Expression;
  readonly test?: Expression | undefined;
  readonly recursive: boolean;
  readonly body: readonly Statement[];
  readonly otherwise: readonly Statement[];
}
