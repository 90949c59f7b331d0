import type { ChildProcess } from 'node:child_process';
import { expect } from 'vitest';
import { TcpProxy } from '../../helpers/tcpProxy.mjs';
import { Gate } from '../../helpers/gate.ts';
import { heldEngine } from '../../helpers/heldEngine.ts';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { startTestServer, type TestServerOptions } from '../../helpers/server.ts';

/** A program of examples/ that runs. */
export interface RunningExample {
  /** Waits until its output matches. Returns all of it so far. */
  readonly until: (pattern: RegExp) => Promise<string>;
}

/** A process as an example. */
export function exampleProcess(child: ChildProcess): RunningExample {
  let output = '';
  let hasEnded = false;
  let notice = (): void => undefined;
  const end = (): void => {
    hasEnded = true;
    notice();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => {
      output += data.toString();
      notice();
    });
  }
  child.once('error', end).once('close', end);
  const until: RunningExample['until'] = async (pattern) => {
    while (!pattern.test(output)) {
      if (hasEnded) throw new Error(`the example ended without ${String(pattern)}:\n${output}`);
      await new Promise<void>((resolve) => (notice = resolve));
    }
    return output;
  };
  return { until };
}

interface ExampleOptions {
  readonly server?: TestServerOptions;
  /** What the example prints at its end. */
  readonly last?: RegExp;
}

/**
 * Runs an example against a server whose connection is cut in the middle of the first answer. Each example asks for the
 * weather, runs the call, reads the answer with its result, and cancels a story. Returns its output.
 */
export async function runExample(
  open: (url: string) => Promise<RunningExample> | RunningExample,
  { server: serverOptions = {}, last = /story: \w+\n/ }: ExampleOptions = {},
): Promise<string> {
  const gate = new Gate();
  const engine = heldEngine([
    { match: 'Paris', node: 'detect', answer: chatmlCall('get_weather', { city: 'Paris' }) },
    { match: 'Paris', node: 'answer', answer: 'It has 18 degrees.', gate },
    // Longer than the client takes to cancel it.
    { match: 'story', node: 'answer', answer: 'once upon a time '.repeat(250), delay_ms: 100 },
    { match: '', answer: 'No call.' },
  ]);
  await using server = await startTestServer({ ...serverOptions, engines: { 'llama-cpp': engine } });
  await using proxy = await TcpProxy.start(server.url);
  try {
    const example = await open(proxy.url);
    await example.until(/^It/m);
    proxy.cut();
    await example.until(/connection: resumed/);
    gate.open();
    const output = await example.until(last);
    expect(output).toContain('call: get_weather Paris\n');
    expect(output).toContain('answer: It has 18 degrees.\n');
    expect(output).toContain('story: CANCELLED\n');
    return output;
  } finally {
    gate.open();
  }
}
