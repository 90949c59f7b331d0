import type { MockScript, ScriptedRequest } from '../../inference/mock/engine.ts';

/** An inference that no entry of a script answers. */
export type UnansweredInference = Pick<ScriptedRequest, 'message' | 'node' | 'inference'>;

/** The mock script of a server whose cases have one each: it can be replaced while the server runs. */
export class ActiveScript {
  readonly #entries: MockScript[number][] = [];
  #place: Pick<ScriptedRequest, 'case' | 'turn'> = {};
  #unanswered: readonly UnansweredInference[] = [];

  /** The entries, for the engine. */
  get entries(): MockScript {
    return this.#entries;
  }

  /** Replaces the script. */
  use(script: MockScript): void {
    const atPlace = script.map((entry) => ({
      ...entry,
      matches: (request: ScriptedRequest) => entry.matches({ ...request, ...this.#place }),
    }));
    // The last entry is asked only where no other one matches; it matches nothing.
    const last: MockScript[number] = {
      matches: ({ message, node, inference }) => {
        this.#unanswered = [...this.#unanswered, { message, node, inference }];
        return false;
      },
      reply: { answer: '', delay_ms: 0, chunk: 0 },
      scores: { scores: {}, delay_ms: 0 },
    };
    this.#entries.splice(0, this.#entries.length, ...atPlace, last);
  }

  /** Tells which turn of which case runs. */
  enter(name: string, turn: number): void {
    this.#place = { case: name, turn };
    this.#unanswered = [];
  }

  /** The inferences of the turn that no entry answered: the engine gave its own answer. */
  get unanswered(): readonly UnansweredInference[] {
    return this.#unanswered;
  }
}
