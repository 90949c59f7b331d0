import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();

describe('turngraph conformance', () => {
  it.each([
    ['without a server and a client', [], 'conformance needs --server URL or --client COMMAND'],
    ['with both', ['--client', 'true', '--server', 'ws://127.0.0.1:9'], '--client does not go with --server'],
    ['with a token for a client', ['--client', 'true', '--token', 'x'], '--client does not go with --token'],
    ['with an address that is no URL', ['--server', '127.0.0.1:9'], '--server must be a WebSocket address'],
  ])('is refused %s', async (_, flags, sentence) => {
    const { code, err } = await runCommand(['conformance', ...flags]);
    expect(err).toContain(sentence);
    expect(code).toBe(2);
  });

  it('exits with 1 for a program that does not start, and prints why in one line for each codec', async () => {
    const { code, out, err } = await runCommand(['conformance', '--client', 'node -e "process.exit(3)"']);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/^failed +json +the program runs with turngraph\.v1\.json: .* its exit with code 3 /),
      expect.stringMatching(/^failed +proto +the program runs with turngraph\.v1\.proto: /),
      '',
    ]);
    expect({ code, err }).toEqual({ code: 1, err: '0 passed, 2 failed\n' });
  });

  it('exits with 2 when a text of --only is in the name of no check', async () => {
    const client = fileURLToPath(new URL('../helpers/conformance/brokenClient.mjs', import.meta.url));
    const flags = ['--codec', 'json', '--client', `node ${JSON.stringify(client)}`];
    const { code, err } = await runCommand(['conformance', ...flags, '--only', 'a JSON', 'one JSON event']);
    expect(err).toContain('--only: no check has "a JSON" in its name');
    expect(code).toBe(2);
    expect((await runCommand(['conformance', ...flags, '--only', 'one JSON event'])).code).toBe(0);
  });

  it('prints the results as a JSON list', async () => {
    const flags = ['--json', '--codec', 'proto', '--client', 'node -e "process.exit(77)"'];
    const { code, out } = await runCommand(['conformance', ...flags]);
    expect(JSON.parse(out)).toEqual([
      {
        name: 'the program runs with turngraph.v1.proto',
        codec: 'proto',
        outcome: 'failed',
        reason: 'the program exited with code 77: it does not support this codec',
      },
    ]);
    expect(code).toBe(1);
  });
});
