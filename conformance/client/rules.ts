import type { CheckResult, CodecName } from '../report.ts';
import type { ProtocolSection } from '../sections.ts';
import type { ClientRule } from './scriptedConnection.ts';
import type { Stage } from './stage.ts';

const rules: {
  readonly [Rule in ClientRule]: {
    readonly name: string;
    readonly expected: string;
    readonly section: ProtocolSection;
  };
} = {
  subprotocol: {
    name: 'the client offers the subprotocol that it was told to',
    expected: 'the subprotocol of TURNGRAPH_CODEC (or none for JSON)',
    section: 'Connecting',
  },
  frames: {
    name: 'all frames of the client are valid',
    expected: 'only frames that the server accepts',
    section: 'ClientFrame',
  },
  'request ids': {
    name: 'no request has the id of another one that waits',
    expected: 'request ids 1, 2, 3, ...',
    section: 'ClientFrame',
  },
  events: {
    name: 'the program writes one JSON event a line',
    expected: 'only the events of docs/contribute/conformance.md',
    section: 'Order',
  },
};

/** The results of the rules that hold for all scenarios, after these. */
export function ruleResults({ run: { violations } }: Stage, codec: CodecName): readonly CheckResult[] {
  return Object.entries(rules).map(([rule, { name, expected, section }]) => {
    const came = violations.get(rule as ClientRule);
    if (came === undefined) return { name, codec, outcome: 'passed', reason: '' };
    return { name, codec, outcome: 'failed', reason: `expected ${expected}, came ${came} (PROTOCOL.md, "${section}")` };
  });
}
