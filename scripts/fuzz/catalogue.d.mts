import type { parseCatalogue } from '../../src/models/catalogue/catalogue.ts';

interface Subject {
  readonly parseCatalogue: typeof parseCatalogue;
}

interface Run {
  readonly count: number;
  readonly seed: number;
}

export const name: 'catalogue';
export function fuzz(run: Run & { readonly log?: (line: string) => void }): Promise<void>;
export function hammer(
  subject: Subject,
  run: Run,
): { readonly read: number; readonly faults: number; readonly problems: number };
