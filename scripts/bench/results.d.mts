/** Which way is good. */
export type Better = 'higher' | 'lower';

/** One line of the benchmark. */
export interface Figure {
  readonly name: string;
  /** What tells it apart from the other figures of its row. */
  readonly of: string;
  /** The figure itself, also where it is no ratio but has a unit. */
  readonly ratio: number;
  /** `x`: a ratio. */
  readonly unit: string;
  /** null: only reported. */
  readonly goal: number | null;
  readonly better: Better;
  readonly met: boolean | null;
  /** What was measured on the way. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export function quantile(numbers: readonly number[], share: number): number;
export function median(numbers: readonly number[]): number;
export function medianOf<Result>(results: readonly Result[], pick: (result: Result) => number): number;
export function interleaved<Side extends string, Result>(
  sides: Readonly<Record<Side, (round: number) => Promise<Result>>>,
  rounds: number,
  options?: { readonly warmUps?: number },
): Promise<Record<Side, Result[]>>;
export function verdict(figure: Pick<Figure, 'ratio' | 'goal' | 'better'>): boolean | null;
export function figure(
  figure: Pick<Figure, 'name' | 'of' | 'ratio' | 'goal' | 'better'> & {
    readonly unit?: string;
    readonly [detail: string]: unknown;
  },
): Figure;
