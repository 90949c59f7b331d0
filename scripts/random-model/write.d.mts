/** What a random model is like; sizes are multiples of 32. */
export interface RandomShape {
  /** Tokens of the vocabulary. */
  readonly words: number;
  readonly layers: number;
  readonly width: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Tokens. */
  readonly contextLength: number;
  /** Tokens that every second layer looks back; default: all. */
  readonly window?: number;
  readonly weights: 'F32' | 'F16' | 'Q8_0';
  readonly seed?: number;
  readonly name?: string;
}

export function writeRandomModel(file: string, shape: RandomShape): Promise<void>;
