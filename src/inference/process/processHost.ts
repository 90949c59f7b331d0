import { EngineProcess, type EngineProcessOptions } from './engineProcess.ts';

/** Gives each model a process of its own to run in. */
export class ProcessHost implements AsyncDisposable {
  readonly #options: EngineProcessOptions;
  #spare: EngineProcess | undefined;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
  }

  /** The process that the next model gets, unless it has ended by then; it is started if there is none. */
  prepare(): EngineProcess {
    if (!this.#spare?.alive) this.#spare = new EngineProcess(this.#options);
    return this.#spare;
  }

  /**
   * The process to load a model in, which the caller ends. @throws Fault MODEL_LOAD_FAILED when it cannot be started.
   */
  acquire(): EngineProcess {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare?.alive ? spare : new EngineProcess(this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spare?.kill();
  }
}
