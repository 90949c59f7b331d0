import type { RecordedInference } from './recordInferences.ts';
import type { PlacedInference } from './recordingEntries.ts';

/** Collects what models answer, with the case and turn that runs. */
export class Recorder {
  readonly #inferences: PlacedInference[] = [];
  #place: Pick<PlacedInference, 'case' | 'turn'> = { case: '', turn: 0 };

  /** Tells which turn of which case runs. */
  enter(name: string, turn: number): void {
    this.#place = { case: name, turn };
  }

  add(recorded: RecordedInference): void {
    this.#inferences.push({ ...recorded, ...this.#place });
  }

  /** Returns what was collected, and forgets it. */
  take(): readonly PlacedInference[] {
    return this.#inferences.splice(0);
  }
}
