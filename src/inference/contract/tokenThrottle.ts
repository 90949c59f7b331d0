import type { Pace } from './pace.ts';
import { TokenRate } from './tokenRate.ts';
import { afterMs, onAbort, whenAny, type Occasion } from './whenAny.ts';

/** Holds back the tokens of one inference: by the pace of its session, and by a limit of its own. */
export class TokenThrottle {
  readonly #rates: readonly TokenRate[];
  readonly #onChange: readonly Occasion[];

  /** @param maxTokensPerSecond its own limit; 0 = none. */
  constructor(pace: Pace | undefined, maxTokensPerSecond = 0) {
    this.#rates = [...(pace ? [pace.rate] : []), new TokenRate(() => maxTokensPerSecond)];
    this.#onChange = pace ? [pace.onChange] : [];
  }

  /** Milliseconds until the next token may be computed; 0 = now. */
  waitMs(): number {
    return Math.max(...this.#rates.map((rate) => rate.waitMs()));
  }

  /** Counts tokens. */
  spend(tokens: number): void {
    for (const rate of this.#rates) rate.spend(tokens);
  }

  /** Waits until the next token may be computed, or one of the signals is aborted. */
  async untilDue(...signals: readonly AbortSignal[]): Promise<void> {
    for (let ms = this.waitMs(); ms > 0 && !signals.some(({ aborted }) => aborted); ms = this.waitMs())
      await whenAny(afterMs(ms), ...this.#onChange, ...signals.map(onAbort));
  }
}
