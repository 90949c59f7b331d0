const baseSteps = 2_000_000;
const stepsPerCharacter = 100;
const charactersPerStep = 64;
const maxTextLength = 16 * 2 ** 20;
const maxListLength = 1_000_000;
const maxNesting = 150;

/**
 * The step budget of one rendering, which limits its work: templates come with model files, and a hostile one must not block the server or
 * fill its memory. One step is about one node of the program; copied text and lists count as well.
 */
export class StepBudget {
  #steps = baseSteps;
  #nesting = 0;
  readonly #total: TotalStepBudget | undefined;

  /** @param total of the renderings that this one belongs to. */
  constructor(total?: TotalStepBudget) {
    this.#total = total;
  }

  /** Grants more steps for a longer input. */
  addInput(characters: number): void {
    this.#steps += stepsPerCharacter * characters;
  }

  /** @throws Error when the steps are used up. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new Error('the template takes too many steps');
    this.#total?.spend(steps);
  }

  /**
   * Counts a text of this length (UTF-16 units) before it is made.
   * @throws Error when it is too long.
   */
  spendText(length: number): void {
    this.checkText(length);
    this.spend(1 + length / charactersPerStep);
  }

  /** @throws Error when a text of this length is too long. */
  checkText(length: number): void {
    if (!(length <= maxTextLength))
      throw new Error(`the template makes a text of more than ${maxTextLength} characters`);
  }

  /**
   * Counts a list of this length before it is made.
   * @throws Error when it is too long.
   */
  spendList(length: number): void {
    if (!(length <= maxListLength)) throw new Error(`the template makes a list of more than ${maxListLength} items`);
    this.spend(1 + length);
  }

  /**
   * Runs a macro or a recursive loop.
   * @throws Error when too many run inside each other.
   */
  nested<T>(run: () => T): T {
    if (this.#nesting >= maxNesting) throw new Error(`the template nests more than ${maxNesting} calls`);
    this.#nesting++;
    try {
      return run();
    } finally {
      this.#nesting--;
    }
  }
}

const parsedCharactersPerStep = 4;
const stepsPerRendering = 1000;

/** Limits the work of several renderings together, on top of the limits of each: many small ones may take as long. */
export class TotalStepBudget {
  #steps: number;

  /** @param steps of all renderings, as a `StepBudget` counts them. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Counts a rendering before it begins. @throws Error when the steps are used up. */
  begin(): void {
    this.spend(stepsPerRendering);
  }

  /** Counts a rendered text (UTF-16 units), which is parsed then. @throws Error when the steps are used up. */
  spendText(length: number): void {
    this.spend(length / parsedCharactersPerStep);
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
