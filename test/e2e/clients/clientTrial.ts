import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import type { TurngraphServer } from '../../../src/server/socket/server.ts';
import { startTestServer, type TestServerOptions } from '../../helpers/server.ts';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';

/*
 * The trial of a client: a program (Trial.cs, trial.gd, trial.html) uses the client of examples/ against a server, and
 * prints what happens, a line each, after "TRIAL ". It asks for the end of the server three times:
 *
 * - "stop the server": it shuts down between two turns, as at SIGTERM, and comes back after two refused attempts to connect;
 * - "kill the server": its connections end without a close frame in a turn, as at SIGKILL; then likewise;
 * - "restart the server": it shuts down in a turn, and there is a new server as soon as the port is free.
 */

/** Starts the program with the URL of the server and its token. The caller ends it. */
export type StartTrial = (url: string, token: string) => ChildProcessWithoutNullStreams;

const token = 'open sesame';
const script = [
  { match: 'porch light', answer: '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": "true"}}' },
  // Each piece has a delay, so the story has not ended when the client cancels it, and when the server is told to end.
  { match: 'story', answer: 'once upon a time '.repeat(250), delay_ms: 100 },
];

/** A server, and others after it on the same port, which is that of a proxy. */
class ReplacedServer implements AsyncDisposable {
  readonly #options: TestServerOptions;
  #server: TurngraphServer | undefined;
  #proxy: TcpProxy | undefined;
  port = 0;

  constructor(options: TestServerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#server = await startTestServer({ script, token, ...this.#options });
    this.#proxy = await TcpProxy.start(this.#server.url, { port: this.port });
    this.port = this.#proxy.port;
  }

  /** Ends as at SIGTERM: no more connections are accepted, and those that there are get a close frame. */
  async shutDown(): Promise<void> {
    const closed = this.#proxy?.refuse();
    await this.#server?.[Symbol.asyncDispose]();
    await closed;
  }

  /** Ends as at SIGKILL: the system closes the connections. */
  async kill(): Promise<void> {
    await this.#proxy?.stop();
    await this.#server?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}

/** Runs the trial to the line "done". Returns its lines, without reasons, which differ by platform. */
export async function runTrial(start: StartTrial, options: TestServerOptions = {}): Promise<readonly string[]> {
  await using server = new ReplacedServer(options);
  await server.start();
  const program = start(`ws://127.0.0.1:${server.port}/`, token);
  try {
    return await collectLines(program, server);
  } finally {
    program.kill('SIGKILL');
  }
}

function collectLines(program: ChildProcessWithoutNullStreams, server: ReplacedServer): Promise<readonly string[]> {
  const lines: string[] = [];
  let output = '';
  let attemptsFailed = 0;
  let noticeAttempts = (): void => undefined;
  const twoFailedAttempts = async (): Promise<void> => {
    attemptsFailed = 0;
    while (attemptsFailed < 2) await new Promise<void>((resolve) => (noticeAttempts = resolve));
  };
  const handle = async (line: string): Promise<void> => {
    if (line === 'stop the server' || line === 'kill the server') {
      await (line.startsWith('stop') ? server.shutDown() : server.kill());
      await twoFailedAttempts();
      await server.start();
    } else if (line === 'restart the server') {
      await server.shutDown();
      await server.start();
    }
  };
  return new Promise((resolve, reject) => {
    const fail = (reason: unknown): void => reject(new Error(`${String(reason)}\n${output}`));
    program.once('error', fail);
    program.once('exit', (code) => fail(`the trial ended with ${code} before it was done`));
    for (const stream of [program.stdout, program.stderr]) {
      createInterface({ input: stream }).on('line', (text) => {
        output += `${text}\n`;
        // Chromium quotes the line and adds its place in the page.
        const [, line] = /TRIAL (.*?)(?:", source: http.*)?$/.exec(text) ?? [];
        if (line === undefined) return;
        if (line.startsWith('lost ')) {
          attemptsFailed += 1;
          noticeAttempts();
          return;
        }
        lines.push(line);
        handle(line).catch(fail);
        if (line === 'done') resolve(lines);
      });
    }
  });
}

const call = 'call set_light {"name": "porch", "on": true}';

/** Asserts that a client has survived all of its trial. */
export function expectSurvival(lines: readonly string[]): void {
  const dialogs = lines.filter((line) => line.startsWith('dialog '));
  const story = expect.stringMatching(/^(?:turn CANCELLED|failed 1002)$/) as string;
  expect(lines.filter((line) => !dialogs.includes(line))).toEqual([
    'refused 3003',
    call,
    'turn SUCCESS 0 ',
    'turn SUCCESS 3 You said: 1970-01-01T00:00:00Z',
    'turn CANCELLED',
    'stop the server',
    'failed 1002',
    'failed 1002',
    'turn SUCCESS 5 You said: After the stop.',
    'kill the server',
    'failed 1002',
    'failed 1002',
    'turn SUCCESS 5 You said: After the kill.',
    'restart the server',
    story,
    expect.stringMatching(/^failed (?:1002|2001)$/) as string,
    call,
    'turn SUCCESS 0 ',
    'done',
  ]);

  interface Interaction {
    readonly user: string;
    readonly assistant: string;
    readonly mark?: string;
  }
  const [chat = [], lamp = []] = dialogs.map((line) => JSON.parse(line.slice('dialog '.length)) as Interaction[]);
  // Whether the story of the restart is in it depends on what came first: the answer to the export, or the close.
  expect(chat.slice(0, 4)).toEqual([
    { user: '1970-01-01T00:00:00Z', assistant: 'You said: 1970-01-01T00:00:00Z' },
    { user: 'Tell me a story.', assistant: expect.stringMatching(/^once /) as string, mark: 'cancelled' },
    { user: 'After the stop.', assistant: 'You said: After the stop.' },
    { user: 'After the kill.', assistant: 'You said: After the kill.' },
  ]);
  expect(lamp.map(({ user }) => user)).toEqual(Array.from({ length: 2 }, () => 'Please turn on the porch light.'));
}
