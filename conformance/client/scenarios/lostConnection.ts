import { Fault } from '../../../src/protocol/fault.ts';
import { expectThat, shown } from '../../expect.ts';
import type { ClientCheck, Stage } from '../stage.ts';
import { eventOf } from '../inbox.ts';
import { reconnection } from '../reconnection.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';
import type { StageAgent } from '../stageAgent.ts';

/** A connected program with an agent that has had one turn, so that there is a dialog to restore. */
async function experiencedAgent(stage: Stage): Promise<StageAgent> {
  await stage.connect();
  const agent = await stage.createAgent([{ user: 'Hello!', assistant: 'Hi. “🏮”' }]);
  const turn = await ScriptedTurn.start(stage, agent, 'My name is Ada.');
  await turn.text('Good evening, Ada.').end().complete();
  // A client that exports the dialog has it now.
  await stage.settle();
  return agent;
}

/** A turn after all, to see that the agent is the same. */
async function anotherTurn(stage: Stage, agent: StageAgent): Promise<void> {
  const turn = await ScriptedTurn.start(stage, agent, 'What is my name?');
  await turn.text('Ada.').end().complete();
}

/** Checks of what a client does after its connection has ended. */
export const lostConnectionChecks: readonly ClientCheck[] = [
  {
    name: 'close 4409 ends the connection for good',
    section: 'Close codes',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('Until ').reported();
      stage.inbox.mayFail.add(turn.commandId);
      stage.leave().close(4409, 'another connection has resumed the session');
      await turn.failed([1002]);
      await stage.connectionEvent('lost');
      const id = stage.command('send', { agent: agent.name, text: 'Is anybody there?' });
      await stage.error(id, [1002], 'Error codes');
      // As long as the longest pause before the first attempt to connect again.
      await new Promise((resolve) => setTimeout(resolve, 400));
      stage.agents = [];
    },
  },
  {
    name: 'after a drop in the middle of a turn no text is lost and none is doubled',
    section: 'Resume',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const turn = await ScriptedTurn.start(stage, agent, 'Count.');
      await turn.text('one ').text('two ').reported();
      const { session } = stage.leave().dropped();
      turn.text('three ').text('four ');
      const outcome = await reconnection(stage, { session, turns: [turn] });
      if (outcome === 'resumed') await turn.text('five').end().complete();
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'a drop during the replay loses and doubles nothing',
    section: 'Resume',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const turn = await ScriptedTurn.start(stage, agent, 'Count.');
      await turn.text('one ').reported();
      const { session } = stage.leave().dropped();
      turn.text('two ').text('three ').text('four ');
      const outcome = await reconnection(stage, {
        session,
        turns: [turn],
        replay(connection, missed) {
          connection.sendAgain(missed[0] ?? '');
          stage.leave().drop();
        },
      });
      if (outcome === 'resumed') {
        await reconnection(stage, { session, turns: [turn] });
        await turn.text('five').end().complete();
      }
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'a request that the server has not received takes effect once',
    section: 'Resume',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const turn = await ScriptedTurn.start(stage, agent, 'Are you there?');
      const { session } = stage.leave().dropped();
      const bytes = session.forgetLastRequest(turn.requestId);
      const outcome = await reconnection(stage, { session, turns: [turn] });
      if (outcome === 'resumed') {
        const again = await stage.request('sendMessage', 'Resume');
        expectThat(again.bytes.equals(bytes), `the same ${bytes.length} bytes again`, shown(again.bytes.toString()));
        await turn.text('I am.').end().complete();
      }
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'a message that is sent without a connection is delivered once, or is an error',
    section: 'Resume',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const { session, ended } = stage.leave().dropped();
      await ended;
      const text = 'Can you hear me?';
      const id = stage.command('send', { agent: agent.name, text });
      stage.inbox.mayFail.add(id);
      const outcome = await reconnection(stage, { session });
      const isRefused = await stage.inbox.take(
        (happening) => {
          if (happening.kind === 'request') return false;
          return eventOf(happening, id)?.event === 'error' || undefined;
        },
        'the message, or an error with code 1002',
        'Resume',
        { keep: true },
      );
      if (isRefused) {
        await stage.error(id, [1002], 'Error codes');
        expectThat(
          outcome === 'restarted',
          'the message in the session that goes on',
          'an error with code 1002',
          'Resume',
        );
      } else await (await ScriptedTurn.received(stage, agent, id, text)).text('Now I can.').end().complete();
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'agents are created again when a resume is refused',
    section: 'Reconnect',
    async run(stage) {
      await stage.connect();
      // Its id is given to no other agent here, so that those after it have other ids in the next session.
      stage.connection.session.takeAgentId();
      const agent = await experiencedAgent(stage);
      const turn = await ScriptedTurn.start(stage, agent, 'Wait.');
      await turn.text('I will ').reported();
      const { session } = stage.leave().dropped();
      const refuse = new Fault('SESSION_NOT_RESUMABLE', 'there is no such session any more; create the agents again');
      await reconnection(stage, { session, turns: [turn], refuse });
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'an attempt to connect again that fails is followed by another one',
    section: 'Reconnect',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const connection = stage.leave();
      connection.sendUncounted(0, 'error', {
        code: 2005,
        name: 'LIMIT_EXCEEDED',
        message: 'the client reads too slowly',
      });
      stage.run.answers.push({ kind: 'refuse', status: 503, reason: 'Service Unavailable' });
      connection.close(4408, 'slow reader');
      await stage.inbox.take(
        (happening) => happening.kind === 'handshake' || undefined,
        'a first attempt',
        'Close codes',
      );
      await reconnection(stage, { session: connection.session });
      await anotherTurn(stage, agent);
    },
  },
  {
    name: 'a server that shuts down is left, and its session is not resumed',
    section: 'Close codes',
    async run(stage) {
      const agent = await experiencedAgent(stage);
      const turn = await ScriptedTurn.start(stage, agent, 'A long story, please.');
      const shutdown = {
        code: 2001,
        name: 'SERVER_SHUTTING_DOWN',
        message: 'the server shuts down; connect again later',
      };
      await turn.text('Once ').reported();
      turn.end({ status: 'CANCELLED', stopReason: 'ABORTED', error: shutdown });
      await turn.cancelled();
      const { session } = stage.connection;
      const id = stage.command('send', { agent: agent.name, text: 'Go on.' });
      const { requestId, connection } = await stage.request('sendMessage', 'SendMessageRequest');
      connection.send(requestId, 'error', shutdown);
      await stage.error(id, [2001], 'Error codes');
      stage.leave().close(1001, 'the server shuts down');
      const isBack = await stage.inbox.take(
        (happening) => {
          if (happening.kind === 'handshake') return true;
          return happening.kind === 'event' && happening.event.event === 'lost' ? false : undefined;
        },
        'the event "lost", or a new connection',
        'Close codes',
        { keep: true },
      );
      if (!isBack) {
        await stage.connectionEvent('lost');
        stage.agents = [];
        return;
      }
      const outcome = await reconnection(stage, { session });
      expectThat(outcome === 'restarted', 'no resumeSession after close 1001', outcome, 'Resume');
      await anotherTurn(stage, agent);
    },
  },
];
