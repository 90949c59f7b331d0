import { ConformanceFailure } from '../expect.ts';
import type { CheckResult, CodecName } from '../report.ts';
import type { ProtocolSection } from '../sections.ts';

/** What holds for every frame of a server. Checked on all connections of a run, and reported at its end. */
const rules = {
  kind: {
    name: 'Every frame of the server is a WebSocket message of the kind that its codec has',
    section: 'Connecting',
  },
  form: { name: 'Every frame of the server has the fields of its message, each of its type', section: 'The JSON form' },
  size: { name: 'Every frame of the server is below 60 KiB', section: 'Frame sizes' },
  seq: { name: 'The frames of a session are numbered 1, 2, 3 without gaps', section: 'ServerFrame' },
  requestId: { name: 'Every answer has the id of a request that was sent', section: 'ServerFrame' },
  final: { name: 'Every request gets exactly one final answer', section: 'ClientFrame' },
  answer: { name: 'Every answer is a message that its request can have', section: 'ClientFrame' },
  turn: { name: 'The text of a turn ends with one empty final frame, before its TurnComplete', section: 'Order' },
  afterTurn: { name: 'Nothing of a turn follows its TurnComplete', section: 'Order' },
  turnIds: { name: 'The frames of a turn name its agent and its turn', section: 'AnswerText' },
  error: { name: 'Every error has a code with its own name, and a message', section: 'Error codes' },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly section: ProtocolSection }>>;

/** The name of a rule for every frame. */
export type FrameRule = keyof typeof rules;

/** Collects the first violation of each rule on the connections of a run. */
export class FrameRules {
  readonly #violations = new Map<FrameRule, ConformanceFailure>();

  /** A rule was violated; later violations of the same rule are not reported. */
  violate(rule: FrameRule, expected: string, came: string): void {
    if (!this.#violations.has(rule)) this.#violations.set(rule, new ConformanceFailure(expected, came));
  }

  /** What came of each rule. */
  results(codec: CodecName): readonly CheckResult[] {
    return Object.entries(rules).map(([rule, { name, section }]) => {
      const violation = this.#violations.get(rule as FrameRule);
      return { name, codec, outcome: violation ? 'failed' : 'passed', reason: violation?.describe(section) ?? '' };
    });
  }
}
