import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';

/** A JSON line that a client program has written (docs/contribute/conformance.md). */
interface ConformEvent {
  readonly event: string;
  readonly id?: number;
  readonly [member: string]: unknown;
}

/** A client program that speaks the commands of the conformance kit. */
export class ConformProgram implements AsyncDisposable {
  readonly events: ConformEvent[] = [];
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<number | null>;
  #wake = (): void => undefined;
  #lastId = 0;

  constructor(
    url: string,
    [command, ...args]: readonly [string, ...string[]],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#process = spawn(command, args, {
      env: { ...process.env, TURNGRAPH_URL: url, TURNGRAPH_CODEC: 'turngraph.v1.json', ...env },
    });
    this.#exited = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.stderr.resume();
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      this.events.push(JSON.parse(line) as ConformEvent);
      this.#wake();
    });
  }

  /** Writes a command. Returns its id. */
  send(command: string, members: object = {}): number {
    const id = ++this.#lastId;
    this.#process.stdin.write(`${JSON.stringify({ id, do: command, ...members })}\n`);
    return id;
  }

  /** Writes a command, and waits for its final event. */
  run(command: string, members: object = {}): Promise<ConformEvent> {
    return this.finalEvent(this.send(command, members));
  }

  /** Waits for the final event of a command. */
  finalEvent(id: number): Promise<ConformEvent> {
    return this.#until((event) => event.id === id && !['text', 'field', 'call'].includes(event.event));
  }

  /** The pieces of text of a command so far, joined. */
  textOf(id: number): string {
    return this.events
      .map((event) => (event.id === id && event.event === 'text' ? String(event['text']) : ''))
      .join('');
  }

  /** Waits until a command has had so many pieces of text. */
  async pieces(id: number, count: number): Promise<void> {
    const ofCommand = (): readonly ConformEvent[] =>
      this.events.filter((event) => event.id === id && event.event === 'text');
    while (ofCommand().length < count) await this.#next();
  }

  /** Waits for the first call of a command. */
  call(id: number): Promise<ConformEvent> {
    return this.#until((event) => event.id === id && event.event === 'call');
  }

  /** Waits until so many events of this name have come. */
  async count(name: string, count: number): Promise<void> {
    while (this.events.filter(({ event }) => event === name).length < count) await this.#next();
  }

  /** The exit code after the end of standard input. */
  async end(): Promise<number | null> {
    this.#process.stdin.end();
    return this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
  }

  async #until(matches: (event: ConformEvent) => boolean): Promise<ConformEvent> {
    for (;;) {
      const found = this.events.find(matches);
      if (found) return found;
      await this.#next();
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}

const slowly = { temperature: 0, max_tokens_per_second: 30 };
const graph = {
  start_node: 'answer',
  default_model_name: 'turngraph-demo',
  nodes: { answer: { type: 'Generate', params: { sampling: slowly } } },
};

/** Asserts that a client resumes its session in the middle of an answer, and that no text is lost or doubled. */
export async function expectResume(
  serverUrl: string,
  command: readonly [string, ...string[]],
  env?: Readonly<Record<string, string>>,
): Promise<void> {
  await using proxy = await TcpProxy.start(serverUrl);
  await using program = new ConformProgram(proxy.url, command, env);
  expect(await program.run('connect')).toMatchObject({
    event: 'connected',
    session: expect.stringMatching(/^\S+$/) as string,
  });
  const { agent } = await program.run('create_agent', {
    graph,
    dialog: [{ user: 'näh 東京 🦊', assistant: 'Hello!' }],
  });
  const turn = program.send('send', { agent, text: 'Tell me a story.' });
  for (const [index, pieces] of [1, 3, 5].entries()) {
    await program.pieces(turn, pieces);
    proxy.cut();
    await program.count('resumed', index + 1);
  }
  const complete = await program.finalEvent(turn);
  expect(complete).toMatchObject({ event: 'complete', status: 'SUCCESS', text: program.textOf(turn) });

  // The same turn without an interruption.
  const { agent: other } = await program.run('create_agent', {
    graph,
    dialog: [{ user: 'näh 東京 🦊', assistant: 'Hello!' }],
  });
  expect((await program.run('send', { agent: other, text: 'Tell me a story.' }))['text']).toBe(complete['text']);

  const cancelled = program.send('send', { agent, text: 'Tell me a story.' });
  await program.pieces(cancelled, 1);
  expect(await program.run('cancel', { agent })).toMatchObject({ event: 'ok' });
  expect(await program.finalEvent(cancelled)).toMatchObject({ status: 'CANCELLED' });
  expect(await program.end()).toBe(0);
}
