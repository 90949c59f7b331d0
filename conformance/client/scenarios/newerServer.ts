import { expectThat, shown } from '../../expect.ts';
import type { ClientCheck } from '../stage.ts';
import { unknownMessage, withoutDefaults, withUnknownEnum, withUnknownFields } from '../futureFrames.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';

// The number of TurnComplete.stop_reason in the proto.
const stopReasonNumber = 6;

/** Checks of how a client reads what a newer server of version 1 may send. */
export const newerServerChecks: readonly ClientCheck[] = [
  {
    name: 'unknown fields are ignored',
    section: 'ServerFrame',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      const delivery = { change: withUnknownFields };
      turn.text('newer ', delivery);
      turn.call({ callId: 'futureAB1', toolName: 'light', typedArgumentsJson: '{"on":true}' }, delivery);
      await turn.text('server').end({}, delivery).complete();
    },
  },
  {
    name: 'unknown messages are ignored',
    section: 'ServerFrame',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn.text('before, ');
      for (const requestId of [turn.requestId, 0]) {
        connection.sendPayload(unknownMessage(connection.isBinary, requestId, connection.session.nextSeq));
      }
      await turn.text('after').end().complete();
    },
  },
  {
    name: 'unknown enum values and unknown events of nodes are ignored',
    section: 'ServerFrame',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn.text('all is well').nodeEvent('future_event', '{"future":[1,{"a":null}]}');
      await turn.end({}, { change: withUnknownEnum('stopReason', stopReasonNumber) }).complete({ reason: '' });
      // One that comes after its turn ends nothing.
      const place = { agentId: agent.id, turnId: turn.turnId, nodeName: 'memory', part: 1, of: 1 };
      connection.send(0, 'nodeEvent', { ...place, eventType: 'remembered', payloadJson: '{"ids":[],"texts":[]}' });
      const next = await ScriptedTurn.start(stage, agent);
      await next.text('and then?').end().complete();
    },
  },
  {
    name: 'absent fields and null are read as defaults',
    section: 'The JSON form',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn.text('short', { change: withoutDefaults() });
      turn.call({ callId: 'absent001', toolName: 'look', typedArgumentsJson: '{}' }, { change: withoutDefaults() });
      const empty = { path: [], warnings: [], timeToFirstTokenMs: 0, stopReason: 'NONE' } as const;
      await turn.end(empty, { change: withoutDefaults('error') }).complete({ reason: '' });
    },
  },
  {
    name: 'an unknown error code is reported with its message',
    section: 'Error codes',
    async run(stage) {
      const connection = await stage.connect();
      const message = 'the moon is in the way; wait until it has set';
      const id = stage.command('create_agent', { graph: stage.nextGraph() });
      const { requestId } = await stage.request('createAgent', 'CreateAgentRequest');
      connection.send(requestId, 'error', { code: 3999, name: 'FUTURE_ERROR', message });
      const error = await stage.error(id, [3999, 5005], 'Error codes');
      expectThat(error.message.includes(message), `a message with ${shown(message)}`, shown(error.message));
    },
  },
  {
    name: 'a ping is answered with its payload',
    section: 'Keepalive',
    async run(stage) {
      const connection = await stage.connect();
      const payload = 'a ping with a payload';
      connection.ping(payload);
      const pong = await stage.inbox.take(
        (happening) => (happening.kind === 'pong' ? happening.payload : undefined),
        'a pong',
        'Keepalive',
      );
      expectThat(pong === payload, `the payload ${shown(payload)}`, shown(pong));
    },
  },
];
