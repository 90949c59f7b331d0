import { EngineProcess, type EngineProcessOptions } from './engineProcess.ts';

/** Gives models a process to run in. */
export interface ProcessHost extends AsyncDisposable {
  /** The process that the next model gets, unless it has ended by then; it is started if there is none. */
  prepare(): EngineProcess;
  /**
   * The process to load a model in. The caller gives it back with `release`, unless it has crashed.
   * @throws Fault MODEL_LOAD_FAILED when the process cannot be started.
   */
  acquire(): EngineProcess;
  /** A model does not need its process any more. @returns whether the process is ended with it. */
  release(process: EngineProcess): boolean;
}

/** A process for each model. */
export class ProcessPerModel implements ProcessHost {
  readonly #options: EngineProcessOptions;
  #spare: EngineProcess | undefined;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
  }

  prepare(): EngineProcess {
    if (!this.#spare?.alive) this.#spare = new EngineProcess(this.#options);
    return this.#spare;
  }

  acquire(): EngineProcess {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare?.alive ? spare : new EngineProcess(this.#options);
  }

  release(): boolean {
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spare?.kill();
  }
}

/** One process for all models. It ends with the last of them. */
export class SharedProcess implements ProcessHost {
  readonly #options: EngineProcessOptions;
  #current: { readonly process: EngineProcess; models: number } | undefined;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
  }

  prepare(): EngineProcess {
    return this.#open().process;
  }

  acquire(): EngineProcess {
    const current = this.#open();
    current.models++;
    return current.process;
  }

  release(process: EngineProcess): boolean {
    if (this.#current?.process !== process) return false;
    this.#current.models--;
    if (this.#current.models > 0) return false;
    this.#current = undefined;
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#current?.process.kill();
  }

  #open(): { readonly process: EngineProcess; models: number } {
    // A process that has ended is of no use to the next model.
    if (this.#current?.process.alive) return this.#current;
    const opened = { process: new EngineProcess(this.#options), models: 0 };
    this.#current = opened;
    return opened;
  }
}
