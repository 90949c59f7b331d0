import type { ClientFrame } from '../../src/protocol/frames.gen.ts';
import type { ClientEvent, CommandEvent } from './clientEvent.ts';
import { ConformanceFailure, shown } from '../expect.ts';
import type { ProtocolSection } from '../sections.ts';
import type { ProgramExit } from './clientProgram.ts';
import type { ScriptedConnection } from './scriptedConnection.ts';

/** What a client program did, in the order in which the kit saw it. */
export type Happening =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  | {
      readonly kind: 'request';
      readonly frame: ClientFrame;
      readonly bytes: Buffer;
      readonly connection: ScriptedConnection;
    }
  | { readonly kind: 'handshake'; readonly connection: ScriptedConnection | undefined }
  | { readonly kind: 'pong'; readonly payload: string }
  | { readonly kind: 'closed'; readonly code: number; readonly connection: ScriptedConnection };

interface Waiting {
  /** Waits no longer than `closedTimeoutMs` from now on. */
  readonly shorten: () => void;
  readonly offer: (happening: Happening) => boolean;
  readonly fail: (reason: unknown) => void;
}

// A program that has crashed closes its connection first, and its exit says more.
const closedTimeoutMs = 2000;

/** Options of `take`. */
export interface InboxTakeOptions {
  /** Leaves it in the inbox. */
  readonly keep?: boolean;
  /** Default: the time limit of the kit. */
  readonly timeoutMs?: number;
}

/**
 * What a client program did and no scenario has looked at yet. A scenario takes what it expects; what is left at its end
 * was not expected.
 */
export class Inbox {
  readonly #timeoutMs: number;
  readonly #stderr: () => string;
  #happenings: Happening[] = [];
  #waiting: Waiting | undefined;
  #exit: ProgramExit | undefined;
  /** The names of the commands that were given, by id. */
  readonly commands = new Map<number, string>();
  /** The ids of commands that may fail, although the scenario waits for something else. */
  readonly mayFail = new Set<number>();
  /** Whether the connection may end, although the scenario waits for something else. */
  mayClose = false;

  /** `stderr` gives the end of what the program has written to standard error. */
  constructor(timeoutMs: number, stderr: () => string) {
    this.#timeoutMs = timeoutMs;
    this.#stderr = stderr;
  }

  /** How the program has ended; undefined while it runs. */
  get exit(): ProgramExit | undefined {
    return this.#exit;
  }

  /** A command in words: its name and id. */
  commandOf(id: number): string {
    return `${this.commands.get(id) ?? 'a command'} (id ${id})`;
  }

  /** Adds what happened. */
  add(happening: Happening): void {
    if (this.#waiting?.offer(happening)) return;
    this.#happenings.push(happening);
    const surprise = this.#surprise(happening);
    if (surprise) this.#waiting?.fail(surprise);
    else if (happening.kind === 'closed' && !this.mayClose) this.#waiting?.shorten();
  }

  /** The program has ended: nothing more comes. */
  end(exit: ProgramExit): void {
    this.#exit = exit;
    this.#waiting?.fail(exitFailure(exit));
  }

  /** Forgets all, for a program that is started anew. */
  clear(): void {
    this.#happenings = [];
    this.#exit = undefined;
    this.mayFail.clear();
    this.mayClose = false;
  }

  /**
   * Takes the first happening from which `select` takes something, and waits for it.
   * @throws ConformanceFailure when it does not come within the time limit, when the program exits, and when a command
   * fails from which that is not expected.
   */
  async take<Value>(
    select: (happening: Happening) => Value | undefined,
    expected: string,
    section?: ProtocolSection,
    { keep = false, timeoutMs = this.#timeoutMs }: InboxTakeOptions = {},
  ): Promise<Value> {
    for (const [index, happening] of this.#happenings.entries()) {
      const value = select(happening);
      if (value === undefined) continue;
      if (!keep) this.#happenings.splice(index, 1);
      return value;
    }
    if (this.#exit) throw exitFailure(this.#exit);
    for (const happening of this.#happenings) {
      const surprise = this.#surprise(happening);
      if (surprise) throw surprise;
    }
    return this.#wait(select, expected, section, { keep, timeoutMs });
  }

  /**
   * Takes what no scenario has expected. Returns it in words.
   * @param isExpected what is left out.
   */
  takeRest(isExpected: (happening: Happening) => boolean = () => false): readonly string[] {
    return this.#happenings
      .splice(0)
      .filter((happening) => !isExpected(happening))
      .map(describe);
  }

  #wait<Value>(
    select: (happening: Happening) => Value | undefined,
    expected: string,
    section: ProtocolSection | undefined,
    { keep, timeoutMs }: Required<InboxTakeOptions>,
  ): Promise<Value> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        this.#waiting = undefined;
      };
      const fail = (reason: unknown): void => {
        stop();
        reject(reason);
      };
      const expire = (): void => {
        const closed = this.#happenings.find(({ kind }) => kind === 'closed');
        if (closed && !this.mayClose) return fail(new ConformanceFailure('an open connection', describe(closed)));
        const others = this.#happenings.map(describe);
        const came = others.length === 0 ? 'nothing' : `only: ${others.slice(0, 3).join('; ')}`;
        fail(new ConformanceFailure(expected, `within ${timeoutMs} ms ${came}${noted(this.#stderr())}`, section));
      };
      const isClosed = !this.mayClose && this.#happenings.some(({ kind }) => kind === 'closed');
      let timer = setTimeout(expire, isClosed ? closedTimeoutMs : timeoutMs);
      const shorten = (): void => {
        clearTimeout(timer);
        timer = setTimeout(expire, closedTimeoutMs);
      };
      const offer = (happening: Happening): boolean => {
        let value: Value | undefined;
        try {
          value = select(happening);
        } catch (thrown) {
          fail(thrown);
          return true;
        }
        if (value === undefined) return false;
        stop();
        resolve(value);
        return !keep;
      };
      this.#waiting = { shorten, offer, fail };
    });
  }

  #surprise(happening: Happening): ConformanceFailure | undefined {
    if (happening.kind !== 'event' || happening.event.event !== 'error') return undefined;
    const { id } = happening.event;
    if (this.mayFail.has(id)) return undefined;
    return new ConformanceFailure(`no error of ${this.commandOf(id)}`, shown(happening.event));
  }
}

/** The event of a happening that belongs to a command; undefined for another happening. */
export const eventOf = (happening: Happening, id: number): CommandEvent | undefined =>
  happening.kind === 'event' && 'id' in happening.event && happening.event.id === id ? happening.event : undefined;

function describe(happening: Happening): string {
  switch (happening.kind) {
    case 'event':
      return `the event ${shown(happening.event)}`;
    case 'request':
      return `the request ${happening.frame.body} with requestId ${happening.frame.requestId}`;
    case 'handshake':
      return 'a new connection';
    case 'pong':
      return 'a pong';
    default:
      return `the end of the connection with ${happening.code}`;
  }
}

/** What a program wrote to standard error, behind what it did; nothing if it wrote nothing. */
const noted = (stderr: string): string => (stderr === '' ? '' : `; it wrote to standard error: ${stderr}`);

function exitFailure({ code, stderr, flood }: ProgramExit): ConformanceFailure {
  if (flood !== undefined)
    return new ConformanceFailure('events on standard output', `${flood}: the kit ended the program`);
  return new ConformanceFailure(
    'a program that runs until the command close',
    `${code === null ? 'its end by a signal' : `its exit with code ${code}`}${noted(stderr)}`,
  );
}
