import type { DoctorStage } from '../doctor/diagnose.ts';

/** Progress of `turngraph doctor` on stderr: a status line on a terminal, one line per stage elsewhere. */
export class DoctorProgress implements Disposable {
  readonly #name: string;
  readonly #isTerminal = process.stderr.isTTY;
  #stage: DoctorStage['stage'] | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Shows a step. */
  step(step: DoctorStage): void {
    if (this.#isTerminal) process.stderr.write(`\r\x1b[K${this.#describeStep(step)}`);
    else if (step.stage !== this.#stage) process.stderr.write(`${this.#describeStage(step)}\n`);
    this.#stage = step.stage;
  }

  [Symbol.dispose](): void {
    if (this.#isTerminal && this.#stage) process.stderr.write('\r\x1b[K');
  }

  #describeStep(step: DoctorStage): string {
    const stage = this.#describeStage(step);
    if (step.stage === 'loading') return `${stage} ${Math.floor(step.fraction * 100)} %`;
    return step.stage === 'asking' ? `${stage}, ${step.done} done` : stage;
  }

  #describeStage(step: DoctorStage): string {
    switch (step.stage) {
      case 'loading':
        return `loading ${this.#name}`;
      case 'timing':
        return 'measuring prefill and decode speed';
      case 'asking':
        return `asking ${step.all} tool questions`;
      default:
        return step satisfies never;
    }
  }
}
