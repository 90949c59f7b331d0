import type { finalResponse } from '../../src/client/responses.ts';
import type { ClientFrame, ServerFrame } from '../../src/frames.gen.ts';

export class Ledger {
  readonly faults: readonly string[];
  constructor(finalAnswer: typeof finalAnswer);
  sent(frame: ClientFrame): void;
  heard(frame: ServerFrame): void;
  settle(): void;
}
