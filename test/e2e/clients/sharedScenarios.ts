import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { Gate } from '../../helpers/gate.ts';
import { heldEngine, type ScriptLine, watchPaces } from '../../helpers/heldEngine.ts';
import { repositoryPath, startTestServer, type TestServerOptions } from '../../helpers/server.ts';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';
import { ConformProgram } from './conformProgram.ts';

/*
 * scenarios.json says what every client can do: its scenarios are run with the program of each client for the conformance
 * kit, and the table in docs/clients.md is made from it. Besides the commands of the kit these programs have some of their
 * own: `tools` of a send (what the functions return, or fail with), `idle_ms` of a connect, `export`, `change`, `destroy`,
 * `report_frame`, `request`.
 */

/** A command of a scenario, and what must come of it: calls, fields, and a final event. */
interface Step {
  readonly do: string;
  /** A graph of the file; the agent of the other commands is the one that was created last. */
  readonly graph?: string;
  readonly text?: string;
  /** How long it waits before. */
  readonly after_ms?: number;
  /** How often the text is sent, one after the other in a message. */
  readonly repeat?: number;
  /** "exported": the dialog of the last export; "empty": an empty text. */
  readonly dialog?: 'exported' | 'empty';
  /** What happens after the first piece of the answer. */
  readonly meanwhile?: 'cancel' | 'cut';
  /** The result that is submitted for each call. */
  readonly submit?: object;
  /** A request before that, while the turn waits for the result. */
  readonly request?: object;
  readonly calls?: readonly object[];
  readonly fields?: readonly object[];
  /** The share that frame times leave to the session of the last answer. */
  readonly maxShare?: number;
  readonly expect: object;
}

/** scenarios.json */
interface ScenarioFile {
  readonly graphs: Readonly<Record<string, object>>;
  /** Of the mock engine; a held line waits after its first piece until the connection was cut. */
  readonly script: readonly (ScriptLine & { readonly isHeld?: boolean })[];
  readonly scenarios: readonly { readonly title: string; readonly steps: readonly Step[] }[];
}

const file = JSON.parse(readFileSync(repositoryPath('test/e2e/clients/scenarios.json'), 'utf8')) as ScenarioFile;

const stepMs = 30_000;

/** What the steps of a run share. */
class ScenarioRun implements AsyncDisposable {
  readonly #command: readonly [string, ...string[]];
  readonly #env: Readonly<Record<string, string>>;
  readonly #proxy: TcpProxy;
  readonly #gate: Gate;
  #program: ConformProgram | undefined;
  #agent: unknown;
  #dialog: unknown;

  constructor(
    command: readonly [string, ...string[]],
    env: Readonly<Record<string, string>>,
    proxy: TcpProxy,
    gate: Gate,
  ) {
    this.#command = command;
    this.#env = env;
    this.#proxy = proxy;
    this.#gate = gate;
  }

  /** Runs a step. Resolves with its final event, and with its calls. */
  async step({
    do: command,
    graph,
    text,
    repeat = 1,
    after_ms: pauseMs = 0,
    dialog,
    meanwhile,
    submit,
    request,
    ...members
  }: Step): Promise<object> {
    if (pauseMs > 0) await sleep(pauseMs);
    const program = (this.#program ??= new ConformProgram(this.#proxy.url, this.#command, this.#env));
    const id = program.send(command, {
      ...(command !== 'create_agent' && { agent: this.#agent }),
      ...(graph && { graph: file.graphs[graph] }),
      ...(text && { text: text.repeat(repeat) }),
      ...(dialog && { dialog: dialog === 'empty' ? '' : this.#dialog }),
      ...members,
      expect: undefined,
    });
    if (meanwhile) await this.#disturb(program, id, meanwhile);
    if (submit) {
      const { call } = await program.call(id);
      if (request) await program.run('request', request);
      await program.run('results', { agent: this.#agent, results: [{ call, ...submit }] });
    }
    const event = await program.finalEvent(id);
    if (event.event === 'agent') this.#agent = event['agent'];
    if (event.event === 'dialog') this.#dialog = event['dialog'];
    const eventsOf = (name: string) => program.events.filter((each) => each.id === id && each.event === name);
    return { ...event, calls: eventsOf('call'), fields: eventsOf('field') };
  }

  async #disturb(program: ConformProgram, id: number, what: 'cancel' | 'cut'): Promise<void> {
    await program.pieces(id, 1);
    if (what === 'cancel') {
      await program.run('cancel', { agent: this.#agent });
      return;
    }
    this.#proxy.cut();
    await program.count('resumed', 1);
    this.#gate.open();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#gate.open();
    await this.#program?.[Symbol.asyncDispose]();
  }
}

/** Asserts that a client runs all scenarios, by the program that speaks the commands of the conformance kit for it. */
export async function expectScenarios(
  command: readonly [string, ...string[]],
  { env = {}, server: options = {} }: { env?: Readonly<Record<string, string>>; server?: TestServerOptions } = {},
): Promise<void> {
  const gate = new Gate();
  const script = file.script.map(({ isHeld, ...line }) => (isHeld ? { ...line, gate } : line));
  const { engine, paces } = watchPaces(heldEngine(script));
  await using server = await startTestServer({ ...options, engines: { 'llama-cpp': engine } });
  await using proxy = await TcpProxy.start(server.url);
  await using run = new ScenarioRun(command, env, proxy, gate);
  const outcomes: object[] = [];
  for (const { title, steps } of file.scenarios) {
    const events: object[] = [];
    for (const step of steps) {
      events.push(await Promise.race([run.step(step), late(title, step)]));
      if (step.maxShare !== undefined) expect(paces.at(-1)?.limits.maxShare).toBe(step.maxShare);
    }
    outcomes.push({ title, events });
  }
  const expected = file.scenarios.map(({ title, steps }) => ({
    title,
    events: steps.map(({ calls = [], fields = [], expect: event }) => ({ ...event, calls, fields })),
  }));
  expect(outcomes).toMatchObject(expected);
}

/** Rejects when a step does not end. */
async function late(title: string, step: Step): Promise<never> {
  await sleep(stepMs, undefined, { ref: false });
  throw new Error(`${title}: no final event of ${JSON.stringify(step)}`);
}
