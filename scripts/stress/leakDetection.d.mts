export interface Sample {
  readonly seconds: number;
  readonly value: number;
}

export interface Trend {
  /** Whether there were samples enough to say anything. */
  readonly enough: boolean;
  readonly rising: boolean;
  readonly samples: number;
  readonly perHour?: { readonly slope: number; readonly low: number; readonly high: number };
  readonly middle?: number;
  readonly last?: number;
  readonly growth?: number;
  readonly noise?: number;
}

export function trendOf(samples: readonly Sample[]): Trend;
export function median(numbers: readonly number[]): number;
export function quantile(numbers: readonly number[], share: number): number;
