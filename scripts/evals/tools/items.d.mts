import type { ToolDeclaration } from '../../../src/tools/tool.ts';

export type Category = 'simple' | 'multiple' | 'parallel' | 'parallelMultiple' | 'irrelevance';

export interface ExpectedCall {
  readonly name: string;
  /** For each parameter the values that are right; null: it may be absent. */
  readonly arguments: Readonly<Record<string, readonly unknown[]>>;
}

export interface Item {
  readonly category: Category;
  readonly id: string;
  readonly tools: readonly ToolDeclaration[];
  readonly message: string;
  readonly calls: readonly ExpectedCall[];
}

export const calling: readonly Category[];
export const categories: readonly Category[];
export function readItems(limit?: number): Promise<readonly Item[]>;
