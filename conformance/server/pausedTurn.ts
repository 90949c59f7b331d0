import { CheckedConnection } from './connection.ts';
import { useGeneration } from './facts.ts';
import { chat } from './graphs.ts';
import { answered, createAgent } from './requests.ts';
import type { ServerUnderTest } from './serverUnderTest.ts';

/** An agent in a turn that does not end before the session is resumed from its pause, or the turn is cancelled. */
export interface PausedTurn extends AsyncDisposable {
  readonly connection: CheckedConnection;
  readonly agentId: number;
  /** The id of its sendMessage. */
  readonly requestId: number;
  readonly message: string;
}

/** Starts a turn in a session that is paused. @throws NotApplicable where the server has nothing to generate with. */
export async function startTurn(server: ServerUnderTest): Promise<PausedTurn> {
  const connection = await CheckedConnection.open(server);
  const agentId = await createAgent(
    connection,
    chat({ sampling: { max_tokens: 16 } }),
    await useGeneration(connection),
  );
  await answered(connection, ['setPace', { paused: true }], 'ack');
  const message = 'one two three';
  const requestId = connection.send('sendMessage', { agentId, text: message });
  return { connection, agentId, requestId, message, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]() };
}

/** Ends the pause of the session. */
export const endPause = async (connection: CheckedConnection): Promise<void> => {
  await answered(connection, ['setPace', { paused: false }], 'ack');
};
