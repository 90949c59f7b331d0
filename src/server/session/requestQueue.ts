import { Fault } from '../../protocol/fault.ts';

/** Limits of the requests that wait, in bytes as received. */
export interface QueueLimits {
  /** Per connection: above it the connection is not read. */
  readonly connectionBytes: number;
  /** Of all connections together: above it only connections without a waiting request are read. */
  readonly totalBytes: number;
}

/** Stops and continues the reading of a connection: TCP backpressure on the client. */
export interface PausableReader {
  pause(): void;
  resume(): void;
}

export interface QueuePlace {
  /**
   * From now on the request waits for the creation of its agent, while later requests are handled.
   * @throws Fault LIMIT_EXCEEDED when too many bytes wait in this way. Pausing the connection instead could block the
   * request that ends the wait.
   */
  defer(): void;
  release(): void;
}

/**
 * The request queues of all sessions, counted in bytes. A connection over a limit is paused; paused ones are resumed
 * in the order of pausing. A connection without a request in order of arrival is always read, so none starves and a
 * frame of any size is accepted: at most `totalBytes` wait, and a few frames per connection.
 */
export class RequestQueues {
  readonly limits: QueueLimits;
  readonly #paused = new Set<RequestQueue>();
  #bytes = 0;

  constructor(limits: QueueLimits) {
    this.limits = limits;
  }

  /** Bytes of all waiting requests. */
  get bytes(): number {
    return this.#bytes;
  }

  get pausedConnections(): number {
    return this.#paused.size;
  }

  /** Whether fewer bytes wait than `totalBytes`. */
  get hasRoom(): boolean {
    return this.#bytes < this.limits.totalBytes;
  }

  /** Pauses the new connection of a queue that may not be read now. */
  attach(queue: RequestQueue): void {
    this.#paused.delete(queue);
    if (!queue.canRead) this.#pause(queue);
  }

  /** Counts bytes that a queue has gained or lost, then pauses or resumes connections. */
  count(queue: RequestQueue, bytes: number): void {
    this.#bytes += bytes;
    if (bytes > 0 && !queue.canRead) this.#pause(queue);
    if (bytes <= 0) this.#resumeAfter(queue);
  }

  /** Forgets a queue that has no connection now. What still waits in it is counted until it is released. */
  detach(queue: RequestQueue): void {
    this.#paused.delete(queue);
  }

  #pause(queue: RequestQueue): void {
    if (this.#paused.has(queue)) return;
    this.#paused.add(queue);
    queue.reader.pause();
  }

  // Resumes the queue itself, and one other: all at once would exceed the limit by a frame each.
  #resumeAfter(changed: RequestQueue): void {
    const next = [...this.#paused].find((queue) => queue !== changed && queue.canRead);
    for (const queue of [changed, next]) {
      if (!queue?.canRead || !this.#paused.delete(queue)) continue;
      queue.reader.resume();
    }
  }
}

/** The requests of one session that wait. The connection from which they are read can be replaced. */
export class RequestQueue {
  readonly #queues: RequestQueues;
  /** How many wait in order of arrival. */
  #waiting = 0;
  #bytes = 0;
  /** Bytes of those that wait for the creation of an agent. */
  #deferredBytes = 0;
  /** The connection from which requests are read. */
  reader: PausableReader;

  constructor(queues: RequestQueues, reader: PausableReader) {
    this.#queues = queues;
    this.reader = reader;
  }

  /** Reads requests from another connection from now on; it is paused while the queue is over a limit. */
  attach(reader: PausableReader): void {
    this.reader = reader;
    this.#queues.attach(this);
  }

  get canRead(): boolean {
    if (this.#waiting === 0) return true;
    return this.#bytes < this.#queues.limits.connectionBytes && this.#queues.hasRoom;
  }

  add(bytes: number): QueuePlace {
    let state: 'waiting' | 'deferred' | 'released' = 'waiting';
    this.#waiting++;
    this.#count(bytes);
    return {
      defer: () => {
        this.#assertDeferrable(bytes);
        state = 'deferred';
        this.#waiting--;
        this.#deferredBytes += bytes;
        this.#count(0);
      },
      release: () => {
        if (state === 'waiting') this.#waiting--;
        if (state === 'deferred') this.#deferredBytes -= bytes;
        if (state !== 'released') this.#count(-bytes);
        state = 'released';
      },
    };
  }

  /** Its connection is closed, or is not read any more. */
  detach(): void {
    this.#queues.detach(this);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#queues.count(this, bytes);
  }

  #assertDeferrable(bytes: number): void {
    const { limits, hasRoom } = this.#queues;
    const fits = this.#deferredBytes + bytes <= limits.connectionBytes && hasRoom;
    if (fits || this.#deferredBytes === 0) return;
    throw new Fault(
      'LIMIT_EXCEEDED',
      `requests of ${this.#deferredBytes} bytes wait for agents to be created, and more are not allowed; wait for createAgent`,
    );
  }
}
