import type { ToolCallFormat } from '../../src/tools/tool.ts';
import type { stringifyJson } from '../../src/tools/json/value.ts';

interface Subject {
  readonly formats: ReadonlyMap<string, ToolCallFormat>;
  readonly jsonText: typeof stringifyJson;
}

interface Run {
  readonly count: number;
  readonly seed: number;
}

export const name: 'detect';
export const outputs: readonly string[];
export function fuzz(run: Run & { readonly log?: (line: string) => void }): Promise<void>;
export function hammer(
  subject: Subject,
  run: Run,
): { readonly calls: number; readonly repaired: number; readonly truncated: number };
