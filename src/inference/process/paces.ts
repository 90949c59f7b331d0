import { type InferenceSchedule, Pace, type PaceLimits } from '../contract/pace.ts';
import { memoized } from '../../base/memoized.ts';
import type { PlainSchedule } from './messages.ts';

interface SentPace {
  readonly id: number;
  /** Requests with this pace. */
  requests: number;
  readonly stopListening: () => void;
}

/** By pace: where its requests run. Their limit of tokens per second is divided among the processes. */
const processesOf = memoized<Pace, Set<SentPaces>>(() => new Set());

/** The paces of the requests that run in one engine process, which is told of each change. */
export class SentPaces {
  readonly #tell: (id: number, limits: PaceLimits) => void;
  readonly #onEnd: () => void;
  readonly #paces = new Map<Pace, SentPace>();
  #lastId = 0;

  /** @param tell gets the limits of a pace when they change. @param onEnd is called when a request has ended. */
  constructor(tell: (id: number, limits: PaceLimits) => void, onEnd: () => void) {
    this.#tell = tell;
    this.#onEnd = onEnd;
  }

  /** How many requests are paused. */
  get paused(): number {
    return [...this.#paces].reduce((sum, [pace, { requests }]) => sum + (pace.limits.paused ? requests : 0), 0);
  }

  /** The schedule as a request has it. `end` is called when the request has ended, or is to end now. */
  begin({ priority = 'NORMAL', pace }: InferenceSchedule): { readonly plain: PlainSchedule; end(): void } {
    if (!pace) return { plain: { priority }, end: () => undefined };
    const { id } = this.#enter(pace);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#leave(pace);
      this.#onEnd();
    };
    return { plain: { priority, pace: { id, limits: shareOf(pace) } }, end };
  }

  #enter(pace: Pace): SentPace {
    const known = this.#paces.get(pace);
    if (known) {
      known.requests++;
      return known;
    }
    const id = ++this.#lastId;
    const sent: SentPace = { id, requests: 1, stopListening: pace.onChange(() => this.#tellOf(pace)) };
    this.#paces.set(pace, sent);
    for (const other of processesOf(pace).add(this)) if (other !== this) other.#tellOf(pace);
    return sent;
  }

  #leave(pace: Pace): void {
    const sent = this.#paces.get(pace);
    if (!sent || --sent.requests > 0) return;
    sent.stopListening();
    this.#paces.delete(pace);
    processesOf(pace).delete(this);
    for (const other of processesOf(pace)) other.#tellOf(pace);
  }

  #tellOf(pace: Pace): void {
    const sent = this.#paces.get(pace);
    if (sent) this.#tell(sent.id, shareOf(pace));
  }
}

const shareOf = (pace: Pace): PaceLimits => ({
  ...pace.limits,
  maxTokensPerSecond: pace.limits.maxTokensPerSecond / processesOf(pace).size,
});

/** The paces of the requests that run in this engine process, as the server process sends them. */
export class ReceivedPaces {
  readonly #paces = new Map<number, { readonly pace: Pace; requests: number }>();

  /** How many requests are paused. */
  get paused(): number {
    return [...this.#paces.values()].reduce((sum, { pace, requests }) => sum + (pace.limits.paused ? requests : 0), 0);
  }

  /** Replaces the limits of a pace. Those of one that no request has any more are of no interest. */
  set(id: number, limits: PaceLimits): void {
    this.#paces.get(id)?.pace.set(limits);
  }

  async run<T>({ priority, pace }: PlainSchedule, request: (schedule: InferenceSchedule) => Promise<T>): Promise<T> {
    if (!pace) return request({ priority });
    const { id, limits } = pace;
    const received = this.#paces.get(id) ?? { pace: new Pace(), requests: 0 };
    this.#paces.set(id, received);
    received.pace.set(limits);
    received.requests++;
    try {
      return await request({ priority, pace: received.pace });
    } finally {
      if (--received.requests === 0) this.#paces.delete(id);
    }
  }
}
