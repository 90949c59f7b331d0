import type { ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import { ConformanceFailure, NotApplicable } from '../expect.ts';
import { CheckedConnection } from './connection.ts';
import { chat } from './graphs.ts';
import { answered, createAgent, runTurn } from './requests.ts';
import type { ServerFacts, ServerUnderTest } from './serverUnderTest.ts';

const probeText = 'conformance probe';

/** What the mock engine without a script answers (PROTOCOL.md, "ConfigureSessionRequest"). */
export const echoOf = (text: string): string => `You said: ${text}`;

/** Asks the server what it can do. */
export async function findFacts(server: ServerUnderTest): Promise<ServerFacts> {
  try {
    await using connection = await CheckedConnection.open(server);
    const answer = await connection.request('configureSession', { engine: 'mock' });
    if (answer.body !== 'configureSession') return { echoes: false };
    const { text } = await runTurn(connection, await createAgent(connection, chat()), probeText);
    return { echoes: text === echoOf(probeText) };
  } catch (thrown) {
    // A server that cannot answer this fails the checks of turns.
    if (thrown instanceof ConformanceFailure) return { echoes: false };
    throw thrown;
  }
}

/** Lets the session echo each message word by word. @throws NotApplicable where the server does not. */
export async function useEcho(connection: CheckedConnection): Promise<void> {
  if (!connection.server.facts.echoes)
    throw new NotApplicable('the mock engine of this server does not echo; start it without --mock-script');
  await answered(connection, ['configureSession', { engine: 'mock' }], 'configureSession');
}

/** Lets the session generate, with the echo or else with the model. Returns fields for createAgent. @throws NotApplicable */
export async function useGeneration(connection: CheckedConnection): Promise<Partial<ClientFrameBodies['createAgent']>> {
  const { model, facts } = connection.server;
  if (!facts.echoes && model !== '') {
    connection.waitForModel();
    return { defaultModelName: model };
  }
  await useEcho(connection);
  return {};
}
