import { isDeepStrictEqual } from 'node:util';
import type { ProtocolSection } from './sections.ts';

const maxShown = 300;

/** Thrown by a check that does not hold. */
export class ConformanceFailure extends Error {
  readonly expected: string;
  readonly came: string;
  readonly section: ProtocolSection | undefined;

  constructor(expected: string, came: string, section?: ProtocolSection) {
    super(`expected ${expected}, came ${came}`);
    this.expected = expected;
    this.came = came;
    this.section = section;
  }

  /** The reason of a failed check: what was expected, what came, and the section of PROTOCOL.md. */
  describe(ownSection: ProtocolSection): string {
    return `${this.message} (PROTOCOL.md, "${this.section ?? ownSection}")`;
  }
}

/** Thrown by a check that cannot be made with this server or client: the message says why. */
export class NotApplicable extends Error {}

/** A value as JSON, cut when it is long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}... (${text.length} characters)` : text;
}

/** Fails the check unless a condition holds. @throws ConformanceFailure */
export function expectThat(holds: boolean, expected: string, came: string, section?: ProtocolSection): asserts holds {
  if (!holds) throw new ConformanceFailure(expected, came, section);
}

/** Fails the check unless two values are equal. @throws ConformanceFailure */
export function expectEqual(what: string, actual: unknown, expected: unknown, section?: ProtocolSection): void {
  expectThat(isDeepStrictEqual(actual, expected), `${what} ${shown(expected)}`, shown(actual), section);
}
