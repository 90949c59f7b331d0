const baseSteps = 2_000_000;
const stepsPerCharacter = 100;
const charactersPerStep = 64;
const maxTextLength = 16 * 2 ** 20;
const maxListLength = 1_000_000;
const maxNesting = 150;
const maxComputingMs = 2000;
const spendsPerClockCheck = 64;

/** A template takes more work, text or memory than any should; other errors are a template's own. */
export class TemplateLimitError extends Error {
  #hasLine = false;

  /** Adds the line (from 1) of the statement that ran, where it has none. */
  addLine(line: number): void {
    if (!this.#hasLine) this.message = `line ${line}: ${this.message}`;
    this.#hasLine = true;
  }
}

/** The computing time since it was made, in ms: a paused process, or one that waits for a processor, computes nothing. */
class ComputingClock {
  readonly #start = performance.now();
  readonly #cpu = process.cpuUsage();

  /** @throws TemplateLimitError after two seconds. */
  check(): void {
    if (performance.now() - this.#start <= maxComputingMs) return;
    const { user, system } = process.cpuUsage(this.#cpu);
    if ((user + system) / 1000 > maxComputingMs)
      throw new TemplateLimitError(`the template takes more than ${maxComputingMs / 1000} s`);
  }
}

/**
 * The step budget of one rendering, which limits its work: templates come with model files, and a hostile one must not block the server or
 * fill its memory. One step is about one node of the program; copied text and lists count as well. Its time is limited, too.
 */
export class StepBudget {
  readonly #clock: ComputingClock;
  #steps = baseSteps;
  #spends = 0;
  #nesting = 0;
  readonly #total: TotalStepBudget | undefined;

  /** @param total of the renderings that this one belongs to. */
  constructor(total?: TotalStepBudget) {
    this.#total = total;
    this.#clock = total?.clock ?? new ComputingClock();
  }

  /** Grants more steps for a longer input. */
  addInput(characters: number): void {
    this.#steps += stepsPerCharacter * characters;
  }

  /** @throws TemplateLimitError when the steps or the time are used up. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TemplateLimitError('the template takes too many steps');
    this.#total?.spend(steps);
    if (++this.#spends % spendsPerClockCheck === 0) this.#clock.check();
  }

  /** Counts a search for a text in another one, which compares each with each where both repeat one character. */
  spendSearch(length: number, soughtLength: number): void {
    this.spend(1 + (length / 16) * (1 + soughtLength / 16));
  }

  /** Counts a text of this length (UTF-16 units) before it is made. @throws TemplateLimitError when it is too long. */
  spendText(length: number): void {
    this.checkText(length);
    this.spend(1 + length / charactersPerStep);
  }

  /** @throws TemplateLimitError when a text of this length is too long. */
  checkText(length: number): void {
    if (!(length <= maxTextLength))
      throw new TemplateLimitError(`the template makes a text of more than ${maxTextLength} characters`);
  }

  /** Counts a list of this length before it is made. @throws TemplateLimitError when it is too long. */
  spendList(length: number): void {
    if (!(length <= maxListLength))
      throw new TemplateLimitError(`the template makes a list of more than ${maxListLength} items`);
    this.spend(1 + length);
  }

  /** Runs a macro or a recursive loop. @throws TemplateLimitError when too many run inside each other. */
  nested<T>(run: () => T): T {
    if (this.#nesting >= maxNesting) throw new TemplateLimitError(`the template nests more than ${maxNesting} calls`);
    this.#nesting++;
    try {
      return run();
    } finally {
      this.#nesting--;
    }
  }
}

/** Limits the work of several renderings together, on top of the limits of each: many small ones may take as long. */
export class TotalStepBudget {
  readonly clock = new ComputingClock();
  #steps: number;
  #failure: TemplateLimitError | undefined;

  /** @param steps of all renderings, as a `StepBudget` counts them. */
  constructor(steps: number) {
    this.#steps = steps;
  }

  /** @throws TemplateLimitError when the steps are used up. */
  spend(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) this.check();
  }

  /** @throws TemplateLimitError when the steps or the time are used up; the first one again. */
  check(): void {
    this.#failure ??= this.#steps < 0 ? new TemplateLimitError('trying it out takes too many steps') : undefined;
    if (this.#failure) throw this.#failure;
    this.clock.check();
  }
}
