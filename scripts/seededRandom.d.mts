export interface Chance {
  below(limit: number): number;
  between(low: number, high: number): number;
  pick<Item>(list: readonly Item[]): Item;
  once(times: number): boolean;
  often(share: number): boolean;
  shuffled<Item>(list: readonly Item[]): Item[];
}

export function below(random: () => number, limit: number): number;
export function pick<Item>(random: () => number, list: readonly Item[]): Item;
export function randomFrom(seed: number): () => number;
export function chanceFrom(seed: number): Chance;
