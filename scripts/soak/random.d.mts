export interface Chance {
  below(limit: number): number;
  between(low: number, high: number): number;
  pick<Item>(list: readonly Item[]): Item;
  once(times: number): boolean;
}

export function chanceFrom(seed: number): Chance;
