import type { DoctorStage } from '../../models/doctor/diagnose.ts';

/** Says on standard error what the doctor does: one line that changes on a terminal, elsewhere a line for each stage. */
export class DoctorProgress implements Disposable {
  readonly #name: string;
  readonly #isTerminal = process.stderr.isTTY;
  #stage: DoctorStage['stage'] | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  step(step: DoctorStage): void {
    if (this.#isTerminal) process.stderr.write(`\r\x1b[K${this.#words(step)}`);
    else if (step.stage !== this.#stage) process.stderr.write(`${this.#stageWords(step)}\n`);
    this.#stage = step.stage;
  }

  [Symbol.dispose](): void {
    if (this.#isTerminal && this.#stage) process.stderr.write('\r\x1b[K');
  }

  #words(step: DoctorStage): string {
    const words = this.#stageWords(step);
    if (step.stage === 'loading') return `${words} ${Math.floor(step.fraction * 100)} %`;
    return step.stage === 'asking' ? `${words}, ${step.done} done` : words;
  }

  #stageWords(step: DoctorStage): string {
    switch (step.stage) {
      case 'loading':
        return `loading ${this.#name}`;
      case 'timing':
        return 'timing how fast it reads and writes';
      case 'asking':
        return `asking ${step.all} tool questions`;
      default:
        return step satisfies never;
    }
  }
}
