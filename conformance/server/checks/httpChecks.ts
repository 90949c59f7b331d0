import { expectEqual, expectThat, NotApplicable, shown } from '../../expect.ts';
import type { ProtocolSection } from '../../sections.ts';
import { fetchPage, type FetchedPage, type PageSettings } from '../fetchPage.ts';
import type { ServerCheck, ServerUnderTest } from '../serverUnderTest.ts';
import { openWebSocket, type WebSocketSettings } from '../webSocket.ts';

function expectErrorBody({ status, body }: FetchedPage, expected: number, what: string): void {
  expectEqual(`status of ${what}`, status, expected);
  const error = parsed(body)?.['error'];
  expectThat(typeof error === 'string' && error !== '', `{"error": "..."} as the body of ${what}`, shown(body));
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(body) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

/** Tries a handshake that must be refused with this status. */
async function expectRefusedHandshake(
  server: ServerUnderTest,
  settings: Partial<WebSocketSettings>,
  status: number,
): Promise<void> {
  const { url, token, subprotocol, timeoutMs } = server;
  const opened = await openWebSocket({ url, token, subprotocols: [subprotocol], timeoutMs, ...settings });
  if ('socket' in opened) opened.socket.terminate();
  const came = 'socket' in opened ? { status: 101, body: '' } : opened;
  expectErrorBody(came, status, 'the handshake');
}

function needToken({ token }: ServerUnderTest): string {
  if (token === '') throw new NotApplicable('no --token was given');
  return token;
}

const ok = (path: string, isRight: (body: string) => boolean, expected: string): ServerCheck => ({
  name: `GET ${path} answers 200 with ${expected}`,
  section: 'HTTP',
  async run(server) {
    const { status, body } = await fetchPage(server, path);
    expectEqual('status', status, 200);
    expectThat(isRight(body), expected, shown(body));
    const head = await fetchPage(server, path, { method: 'HEAD' });
    expectEqual('status and body of HEAD', [head.status, head.body], [200, '']);
  },
});

const refusedHandshake = (
  name: string,
  settings: Partial<WebSocketSettings>,
  status: number,
  section: ProtocolSection = 'Access control',
): ServerCheck => ({ name, section, run: (server) => expectRefusedHandshake(server, settings, status) });

const refusedPage = (name: string, path: string, status: number, settings: PageSettings = {}): ServerCheck => ({
  name,
  section: 'HTTP',
  run: async (server) => expectErrorBody(await fetchPage(server, path, settings), status, path),
});

/** Plain HTTP on the same port, and handshakes that are refused. They have no codec. */
export const httpChecks: readonly ServerCheck[] = [
  {
    name: 'GET /health/live answers 200 without a token',
    section: 'HTTP',
    async run(server) {
      expectEqual('status', (await fetchPage(server, '/health/live', { token: '' })).status, 200);
    },
  },
  {
    name: 'GET /health/ready answers 200, or 503 with status and reason, without a token',
    section: 'HTTP',
    async run(server) {
      const { status, body } = await fetchPage(server, '/health/ready', { token: '' });
      expectThat([200, 503].includes(status), 'status 200 or 503', String(status));
      const answer = parsed(body);
      const isReason = status === 200 || (answer?.['status'] !== undefined && answer['reason'] !== undefined);
      expectThat(isReason, '{"status", "reason"}', shown(body));
    },
  },
  ok(
    '/metrics',
    (body) => /^# TYPE \w+ (?:counter|gauge|histogram)$/m.test(body),
    'metrics in the text format of Prometheus',
  ),
  ok('/schema/graph.schema.json', (body) => parsed(body)?.['type'] === 'object', 'the JSON Schema of graphs'),
  ok('/proto/wire.proto', (body) => body.includes('package turngraph.v1;'), 'the proto file'),
  ok('/graphs', (body) => Array.isArray(parsed(body)?.['graphs']), '{"graphs": [...]}'),
  {
    name: 'GET /graphs/NAME answers with each graph that /graphs lists',
    section: 'HTTP',
    async run(server) {
      const names = parsed((await fetchPage(server, '/graphs')).body)?.['graphs'] as readonly string[];
      for (const name of names) {
        const { status, body } = await fetchPage(server, `/graphs/${encodeURIComponent(name)}`);
        expectThat(status === 200 && parsed(body)?.['start_node'] !== undefined, `the graph ${name}`, shown(body));
      }
    },
  },
  refusedPage('GET of another path answers 404 with {"error"}', '/conformance-no-such-path', 404),
  refusedPage('Other methods than GET and HEAD are refused with 405', '/graphs', 405, { method: 'POST' }),
  refusedPage('A Host that is not allowed is refused with 403', '/graphs', 403, { headers: { host: 'game.invalid' } }),
  refusedPage('An Origin that is not allowed is refused with 403', '/graphs', 403, {
    headers: { origin: 'https://game.invalid' },
  }),
  refusedHandshake('A handshake at another path is refused with 404', { path: '/conformance' }, 404),
  refusedHandshake(
    'A handshake with a Host that is not allowed is refused with 403',
    { headers: { host: 'game.invalid' } },
    403,
  ),
  refusedHandshake(
    'A handshake with an Origin that is not allowed is refused with 403',
    { headers: { origin: 'https://game.invalid' } },
    403,
  ),
  {
    name: 'Without the token, and with a wrong one, a handshake and a page are refused with 401',
    section: 'Access control',
    async run(server) {
      const token = needToken(server);
      for (const wrong of ['', `${token}x`]) {
        await expectRefusedHandshake(server, { token: wrong }, 401);
        expectErrorBody(await fetchPage(server, '/metrics', { token: wrong }), 401, '/metrics');
      }
    },
  },
  {
    name: 'The token can be given in the URL',
    section: 'Access control',
    async run(server) {
      const path = `/?token=${encodeURIComponent(needToken(server))}`;
      const { url, subprotocol, timeoutMs } = server;
      const opened = await openWebSocket({ url, path, token: '', subprotocols: [subprotocol], timeoutMs });
      expectThat('socket' in opened, 'a WebSocket', shown(opened));
      opened.socket.terminate();
    },
  },
];
