import { CheckedConnection } from './connection.ts';
import { useEcho } from './facts.ts';
import { lamp } from './graphs.ts';
import { createAgent } from './requests.ts';
import type { ServerUnderTest } from './serverUnderTest.ts';

/** An agent with the tool `set_light`. */
export interface LampAgent {
  readonly connection: CheckedConnection;
  readonly agentId: number;
}

/** Connects, and creates an agent whose model writes what the message says. @throws NotApplicable without an echo */
export async function openLamp(server: ServerUnderTest, params: object = {}): Promise<LampAgent> {
  const connection = await CheckedConnection.open(server);
  await useEcho(connection);
  return { connection, agentId: await createAgent(connection, lamp(params)) };
}
