import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { shown } from '../expect.ts';
import { answerHousekeeping } from './answerHousekeeping.ts';
import { readEvent } from './clientEvent.ts';
import { ClientProgram } from './clientProgram.ts';
import { Inbox } from './inbox.ts';
import type { ClientRule, ConnectionListener, ScriptedConnection } from './scriptedConnection.ts';
import { ScriptedServer, type ClientHandshake, type HandshakeAnswer } from './scriptedServer.ts';

/** Which program is run, and how. */
export interface ClientRunOptions {
  readonly command: string;
  readonly codec: Subprotocol;
  /** Milliseconds that the kit waits for anything that a client must do. */
  readonly timeoutMs: number;
}

/** A client program and the scripted server that it talks to; what both do goes to the inbox. */
export class ClientRun implements AsyncDisposable {
  readonly inbox: Inbox;
  /** What the client did against the rules that hold for all scenarios, by rule. */
  readonly violations = new Map<ClientRule, string>();
  /** How the next handshakes are answered; without one a connection is accepted. */
  readonly answers: HandshakeAnswer[] = [];
  lastHandshake: ClientHandshake | undefined;
  readonly #options: ClientRunOptions;
  readonly #listener: ConnectionListener;
  #server: ScriptedServer | undefined;
  #program: ClientProgram | undefined;

  /** `isUsed` says whether the end of a connection matters. */
  constructor(options: ClientRunOptions, isUsed: (connection: ScriptedConnection) => boolean) {
    this.#options = options;
    const inbox = new Inbox(options.timeoutMs, () => this.#program?.stderr ?? '');
    this.inbox = inbox;
    this.#listener = {
      request(frame, bytes, connection) {
        if (!answerHousekeeping(frame, connection)) inbox.add({ kind: 'request', frame, bytes, connection });
      },
      pong(payload) {
        if (!payload.startsWith('between')) inbox.add({ kind: 'pong', payload });
      },
      closed(code, connection) {
        if (isUsed(connection)) inbox.add({ kind: 'closed', code, connection });
      },
      violation: (rule, came) => this.#violate(rule, came),
    };
  }

  /** Starts the program, unless it runs. */
  async start(): Promise<void> {
    this.#server ??= await ScriptedServer.start({
      answer: (handshake) => this.#answer(handshake),
      opened: (connection) => {
        connection?.listen(this.#listener);
        this.inbox.add({ kind: 'handshake', connection });
      },
    });
    this.#program ??= new ClientProgram({
      command: this.#options.command,
      url: this.#server.url,
      codec: this.#options.codec,
      onLine: (line) => this.#readLine(line),
      onExit: (exit) => this.inbox.end(exit),
    });
  }

  /** Kills the program and forgets what it did. */
  async stop(): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
    this.#program = undefined;
    this.answers.length = 0;
    this.inbox.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#server?.[Symbol.asyncDispose]();
  }

  /** Writes a command to the program. */
  write(command: object): void {
    this.#program?.write(command);
  }

  /** Ends the standard input of the program. */
  endInput(): void {
    this.#program?.endInput();
  }

  #readLine(line: string): void {
    const event = readEvent(line);
    if (typeof event !== 'string') return this.inbox.add({ kind: 'event', event });
    this.#violate('events', `${event}: ${shown(line)}`);
  }

  #answer(handshake: ClientHandshake): HandshakeAnswer {
    this.lastHandshake = handshake;
    const { offered } = handshake;
    // Only a client that offers none gets JSON: one that offers unknown names is refused by a server.
    const supported = offered.find((name) => /^turngraph\.v1\.(?:json|proto)$/.test(name));
    const selected = offered.length === 0 ? 'turngraph.v1.json' : supported;
    if (selected !== this.#options.codec) {
      this.#violate('subprotocol', offered.length === 0 ? 'no subprotocol' : `the subprotocols ${offered.join(', ')}`);
    }
    return this.answers.shift() ?? { kind: 'accept' };
  }

  #violate(rule: ClientRule, came: string): void {
    if (!this.violations.has(rule)) this.violations.set(rule, came);
  }
}
