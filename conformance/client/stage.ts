import type { Check } from '../report.ts';
import type { ClientFrame, ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import { ConformanceFailure, expectEqual, expectThat, shown } from '../expect.ts';
import type { ProtocolSection } from '../sections.ts';
import type { CommandEvent, CommandEventName, ConnectionEvent } from './clientEvent.ts';
import type { ProgramExit } from './clientProgram.ts';
import type { ClientRequest, ScriptedConnection } from './scriptedConnection.ts';
import { ClientRun, type ClientRunOptions } from './clientRun.ts';
import { eventOf, type Inbox, type InboxTakeOptions } from './inbox.ts';
import { StageAgent } from './stageAgent.ts';

/** One check of a client program: a scenario, after which nothing may be left that it has not expected. */
export interface ClientCheck extends Check<Stage> {
  /** The program has exited after it. */
  readonly endsProgram?: true;
}

/** An event that belongs to a command, by its name. */
export type EventNamed<Name extends CommandEventName> = Extract<CommandEvent, { readonly event: Name }>;

// Answered with an error once all commands before it have been read.
const unknownCommand = 'unknown_command';
/** The payload of pings that show whether all frames have arrived begins with it. */
const settlePing = 'settle';

// An interpreter may have to compile the program first.
const minStartTimeoutMs = 10_000;

/** A client program on a scripted server, and the waits for what it does: what a scenario works with. */
export class Stage implements AsyncDisposable {
  readonly run: ClientRun;
  readonly inbox: Inbox;
  readonly #startTimeoutMs: number;
  /** The agents of the program, in the order of their creation. */
  agents: StageAgent[] = [];
  #connection: ScriptedConnection | undefined;
  #lastId = 0;
  #pings = 0;

  constructor(options: ClientRunOptions) {
    this.#startTimeoutMs = Math.max(minStartTimeoutMs, options.timeoutMs);
    this.run = new ClientRun(options, (connection) => connection === this.#connection);
    this.inbox = this.run.inbox;
  }

  /** The connection that is used now. @throws ConformanceFailure when there is none. */
  get connection(): ScriptedConnection {
    if (!this.#connection) throw new ConformanceFailure('a connection of the client', 'none', 'Connecting');
    return this.#connection;
  }

  /** Whether the program is connected. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /** Kills the program and forgets what it did: the next scenario begins with a new one. */
  async stop(): Promise<void> {
    this.#connection = undefined;
    this.agents = [];
    await this.run.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run[Symbol.asyncDispose]();
  }

  /** Starts the program, and waits until it reads commands. @throws ConformanceFailure */
  async runs(): Promise<void> {
    await this.run.start();
    await this.error(this.command(unknownCommand), [0], undefined, { timeoutMs: this.#startTimeoutMs });
  }

  /** Gives the program a command. Returns its id. */
  command(name: string, members: object = {}): number {
    const id = ++this.#lastId;
    this.inbox.commands.set(id, name);
    this.run.write({ id, do: name, ...members });
    return id;
  }

  /** Waits until the program has exited. */
  async exited(): Promise<ProgramExit> {
    const expected = 'the exit of the program';
    await this.inbox
      .take(() => undefined, expected)
      .catch((thrown: unknown) => {
        if (!this.inbox.exit) throw thrown;
      });
    return this.inbox.exit ?? { code: null, stderr: '' };
  }

  /** Waits for an event of a command. An event of it that is another one fails the scenario. */
  async event<Name extends CommandEventName>(
    id: number,
    name: Name,
    section?: ProtocolSection,
  ): Promise<EventNamed<Name>> {
    const expected = `the event "${name}" of ${this.inbox.commandOf(id)}`;
    const event = await this.inbox.take((happening) => eventOf(happening, id), expected, section);
    expectThat(event.event === name, expected, shown(event), section);
    return event as EventNamed<Name>;
  }

  /** Waits for the error of a command, with one of these codes. */
  async error(
    id: number,
    codes: readonly number[],
    section?: ProtocolSection,
    options?: InboxTakeOptions,
  ): Promise<EventNamed<'error'>> {
    const expected = `an error with code ${codes.join(' or ')} of ${this.inbox.commandOf(id)}`;
    const event = await this.inbox.take((happening) => eventOf(happening, id), expected, section, options);
    expectThat(event.event === 'error' && codes.includes(event.code), expected, shown(event), section);
    return event;
  }

  /** Waits for an event about the connection that is one of these. */
  async connectionEvent(...names: readonly ConnectionEvent['event'][]): Promise<ConnectionEvent['event']> {
    const expected = `the event ${names.map((name) => `"${name}"`).join(' or ')}`;
    return this.inbox.take(
      (happening) => {
        if (happening.kind !== 'event' || 'id' in happening.event) return undefined;
        const { event } = happening.event;
        expectThat(names.includes(event), expected, shown(happening.event), 'End of a session');
        return event;
      },
      expected,
      'End of a session',
    );
  }

  /** Waits for a request of a kind. */
  async request<Name extends keyof ClientFrameBodies>(
    name: Name,
    section?: ProtocolSection,
    isWanted: (fields: ClientFrameBodies[Name]) => boolean = () => true,
  ): Promise<ClientRequest<Name>> {
    return this.inbox.take(
      (happening) => {
        if (happening.kind !== 'request' || happening.frame.body !== name) return undefined;
        const { frame, bytes, connection } = happening;
        const fields = fieldsOf(frame, name);
        return isWanted(fields) ? { requestId: frame.requestId, fields, bytes, connection } : undefined;
      },
      `the request ${name}`,
      section,
    );
  }

  /** Waits for a connection that is accepted. */
  async accepted(): Promise<ScriptedConnection> {
    const connection = await this.inbox.take(
      (happening) => (happening.kind === 'handshake' ? happening : undefined),
      'a connection',
      'Connecting',
    );
    expectThat(
      connection.connection !== undefined,
      'a connection that is accepted',
      'another one before it',
      'Connecting',
    );
    this.#connection = connection.connection;
    return connection.connection;
  }

  /** Connects the program, unless it is connected. */
  async connect(members: object = {}): Promise<ScriptedConnection> {
    await this.run.start();
    if (this.#connection) return this.#connection;
    const id = this.command('connect', members);
    const connection = await this.accepted();
    const { session } = await this.event(id, 'connected', 'SessionReady');
    expectEqual('the session of SessionReady', session, connection.session.id, 'SessionReady');
    return connection;
  }

  /** The connection that is used now ends, or is not used any more: its end is no failure. Returns it. */
  leave(): ScriptedConnection {
    const { connection } = this;
    this.#connection = undefined;
    return connection;
  }

  /** Uses a connection from now on. */
  use(connection: ScriptedConnection): void {
    this.#connection = connection;
  }

  /** Creates an agent with a graph that no other agent has. */
  async createAgent(dialog?: readonly object[]): Promise<StageAgent> {
    const graph = this.nextGraph();
    const id = this.command('create_agent', { graph, ...(dialog && { dialog }) });
    const request = await this.request('createAgent', 'CreateAgentRequest');
    const agent = new StageAgent(graph, dialog);
    agent.check(request.fields);
    agent.accept(request);
    await this.named(agent, id);
    return agent;
  }

  /** A graph that no other agent has. */
  nextGraph(): object {
    const params = { system_prompt: `You are no. ${this.#lastId + 1}: "Ünïcödé 🏮".` };
    return { start_node: 'answer', nodes: { answer: { type: 'Generate', params } } };
  }

  /** Waits for the name that the program gives an agent. */
  async named(agent: StageAgent, id: number): Promise<void> {
    const { agent: name } = await this.event(id, 'agent', 'CreateAgentResponse');
    const isTaken = this.agents.some((other) => other.name === name);
    expectThat(!isTaken, 'a name that no other agent has', shown(name), 'CreateAgentResponse');
    agent.name = name;
    this.agents.push(agent);
  }

  /**
   * Waits until the program has written what it had to write, and its frames have arrived.
   * @throws ConformanceFailure for what no scenario has expected.
   */
  async settle(): Promise<void> {
    const id = this.command(unknownCommand);
    await this.error(id, [0]);
    if (this.#connection) {
      const payload = `${settlePing} ${++this.#pings}`;
      this.#connection.ping(payload);
      const pong = this.inbox.take(
        (happening) => (happening.kind === 'pong' && happening.payload === payload ? true : undefined),
        'a pong',
        'Keepalive',
        { timeoutMs: 250 },
      );
      // Whether pings are answered is the matter of another check.
      await pong.catch(() => {});
    }
    // A slow machine answers the ping of an earlier call only now.
    const rest = this.inbox.takeRest((one) => one.kind === 'pong' && one.payload.startsWith(settlePing));
    expectThat(rest.length === 0, 'nothing more', rest.slice(0, 3).join('; '));
  }
}

function fieldsOf<Name extends keyof ClientFrameBodies>(frame: ClientFrame, name: Name): ClientFrameBodies[Name] {
  // TypeScript cannot correlate the body name with the field of that name.
  return (frame as unknown as Readonly<Record<Name, ClientFrameBodies[Name]>>)[name];
}
