import { Fault } from '../../src/protocol/fault.ts';
import type { ClientFrame } from '../../src/protocol/frames.gen.ts';
import type { ScriptedConnection } from './scriptedConnection.ts';

const commandRequests: ReadonlySet<string> = new Set([
  'createAgent',
  'sendMessage',
  'cancelTurn',
  'submitToolResults',
  'resumeSession',
]);

/** Answers a request that a library may send by itself. Returns false for those that are the matter of scenarios. */
export function answerHousekeeping(frame: ClientFrame, connection: ScriptedConnection): boolean {
  const { requestId } = frame;
  switch (frame.body) {
    case 'configureSession':
      connection.send(requestId, 'configureSession');
      return true;
    case 'destroyAgent':
      connection.session.agents.delete(frame.destroyAgent.agentId);
      connection.send(requestId, 'ack');
      return true;
    case 'exportDialog':
      exportDialog(requestId, frame.exportDialog.agentId, connection);
      return true;
    default:
      if (commandRequests.has(frame.body)) return false;
      connection.refuse(requestId, new Fault('MALFORMED_MESSAGE', `the conformance kit does not answer ${frame.body}`));
      return true;
  }
}

// In two parts: a client has to join them.
function exportDialog(requestId: number, agentId: number, connection: ScriptedConnection): void {
  const agent = connection.session.agents.get(agentId);
  if (!agent) return connection.refuse(requestId, new Fault('INVALID_AGENT_ID', `there is no agent ${agentId}`));
  const { dialogJson } = agent;
  const middle = Math.floor(dialogJson.length / 2);
  connection.send(requestId, 'exportDialog', { part: 1, of: 2, historyJson: dialogJson.slice(0, middle) });
  connection.send(requestId, 'exportDialog', { part: 2, of: 2, historyJson: dialogJson.slice(middle) });
  connection.session.pending.delete(requestId);
}
