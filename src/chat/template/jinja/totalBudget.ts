const charactersPerStep = 4;
const stepsPerRendering = 1000;

/** Limits the work of several renderings together, on top of the limits of each: many small ones may take as long. */
export class TotalBudget {
  #steps: number;

  /** @param steps of all renderings, as a `Budget` counts them. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Counts a rendering before it begins. @throws Error when the steps are used up. */
  begin(): void {
    this.spend(stepsPerRendering);
  }

  /** Counts a rendered text (UTF-16 units), which is parsed then. @throws Error when the steps are used up. */
  spendText(length: number): void {
    this.spend(length / charactersPerStep);
  }

  /** @throws Error when the steps are used up. */
  spend(steps: number): void {
    this.#steps -= steps;
    this.check();
  }

  /** @throws Error when the steps are used up. */
  check(): void {
    if (this.#steps < 0) throw new Error('trying it out takes too many steps');
  }
}
