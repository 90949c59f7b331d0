import { ConformanceFailure, expectThat, shown } from '../../expect.ts';
import type { ClientCheck } from '../stage.ts';
import { eventOf } from '../inbox.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';
import { StageAgent } from '../stageAgent.ts';

/** Checks of agents and turns that run side by side, and of their errors. */
export const agentChecks: readonly ClientCheck[] = [
  {
    name: 'answers that come out of order are matched to their requests',
    section: 'Order',
    async run(stage) {
      const connection = await stage.connect();
      const graphs = [
        stage.nextGraph(),
        { start_node: 'n', nodes: { n: { type: 'Generate' } }, default_model_name: 'B' },
      ];
      const ids = graphs.map((graph) => stage.command('create_agent', { graph }));
      const agents = graphs.map((graph) => new StageAgent(graph));
      const requests = [
        await stage.request('createAgent', 'CreateAgentRequest'),
        await stage.request('createAgent', 'CreateAgentRequest'),
      ];
      const loading = { modelName: 'B', phase: 'LOADING' } as const;
      const agentIds = requests.map(() => connection.session.takeAgentId());
      for (const fraction of [0, 0.5, 1]) {
        for (const { requestId } of requests) connection.send(requestId, 'modelProgress', { ...loading, fraction });
      }
      for (const index of [1, 0]) {
        const request = requests[index];
        const agent = agents.find((candidate) => request && candidate.matches(request.fields));
        if (!request || !agent) throw new ConformanceFailure('each graph once', shown(request?.fields.graphJson));
        agent.accept(request, agentIds[index]);
      }
      for (const [index, agent] of agents.entries()) await stage.named(agent, ids[index] ?? 0);
      for (const agent of agents) {
        const turn = await ScriptedTurn.start(stage, agent);
        await turn.text(`I am ${agent.id}.`).end().complete();
      }
    },
  },
  {
    name: 'the turns of two agents are kept apart',
    section: 'Order',
    async run(stage) {
      await stage.connect();
      const [first, second] = [await stage.createAgent(), await stage.createAgent()];
      const turns = [
        await ScriptedTurn.start(stage, first, 'Count.'),
        await ScriptedTurn.start(stage, second, 'Spell.'),
      ];
      for (const pair of [
        ['one ', 'a '],
        ['two ', 'b '],
        ['three', 'c'],
      ]) {
        for (const [index, turn] of turns.entries()) turn.text(pair[index] ?? '');
      }
      turns[0]?.call({ callId: 'ofTheFirs', toolName: 'count', typedArgumentsJson: '{"to":3}' });
      for (const turn of turns.toReversed()) turn.end();
      for (const turn of turns) await turn.complete();
    },
  },
  {
    name: 'the error of one agent does not end the turn of another',
    section: 'TurnComplete',
    async run(stage) {
      const connection = await stage.connect();
      const [first, second] = [await stage.createAgent(), await stage.createAgent()];
      const failing = await ScriptedTurn.start(stage, first);
      const running = await ScriptedTurn.start(stage, second);
      running.text('still ');
      failing.text('oh ').end({ status: 'ERROR', stopReason: 'ABORTED', error: crash });
      const { message } = await failing.failed([crash.code]);
      expectThat(
        message.includes(crash.message),
        `a message with ${shown(crash.message)}`,
        shown(message),
        'TurnError',
      );
      const id = stage.command('create_agent', { graph: { nodes: {} } });
      const { requestId } = await stage.request('createAgent', 'CreateAgentRequest');
      const detail = '[{"code":"GRAPH_COMPILATION_FAILED","pointer":"","message":"start_node is missing"}]';
      connection.send(requestId, 'error', {
        code: 3003,
        name: 'GRAPH_COMPILATION_FAILED',
        message: 'start_node is missing',
        detail,
      });
      await stage.error(id, [3003], 'CreateAgentRequest');
      await running.text('here').end().complete();
      const again = await ScriptedTurn.start(stage, first);
      await again.text('better now').end().complete();
    },
  },
  {
    name: 'a message to a busy agent is an error, and its turn goes on',
    section: 'SendMessageRequest',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent, 'Count.');
      turn.text('one ');
      const id = stage.command('send', { agent: agent.name, text: 'And now?' });
      stage.inbox.mayFail.add(id);
      const sent = await stage.inbox.take(
        (happening) => {
          // A library may know by itself that the agent is busy.
          if (eventOf(happening, id)) return { requestId: 0 };
          return happening.kind === 'request' && happening.frame.body === 'sendMessage' ? happening.frame : undefined;
        },
        'the second message, or its error',
        'SendMessageRequest',
        { keep: true },
      );
      if (sent.requestId > 0) {
        const { requestId } = await stage.request('sendMessage', 'SendMessageRequest');
        const message = `agent ${agent.id} is in turn ${turn.turnId}; wait for its turnComplete, or cancel it`;
        connection.send(requestId, 'error', { code: 3004, name: 'AGENT_BUSY', message });
      }
      await stage.error(id, [3004], 'SendMessageRequest');
      await turn.text('two').end().complete();
    },
  },
  {
    name: 'a cancelled turn ends with the text so far',
    section: 'CancelTurnRequest',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('Once upon ').reported();
      const id = stage.command('cancel', { agent: agent.name });
      const { requestId, fields } = await stage.request('cancelTurn', 'CancelTurnRequest');
      agent.checkId(fields.agentId);
      expectThat([0, turn.turnId].includes(fields.turnId), `turn_id 0 or ${turn.turnId}`, shown(fields.turnId));
      connection.send(requestId, 'ack');
      await stage.event(id, 'ok', 'CancelTurnRequest');
      await turn.text('a ').end({ status: 'CANCELLED', path: [], stopReason: 'ABORTED' }).cancelled();
    },
  },
  {
    name: 'a cancel that comes too late cancels no other turn',
    section: 'CancelTurnRequest',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      // The turn ends before the server reads the cancel.
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('The end').reported();
      const id = stage.command('cancel', { agent: agent.name });
      const { requestId } = await stage.request('cancelTurn', 'CancelTurnRequest');
      turn.text('.').end();
      connection.send(requestId, 'ack');
      await turn.complete();
      await stage.event(id, 'ok', 'CancelTurnRequest');
      // Now the client knows that the turn has ended. A cancel may be sent, but not after the next message.
      const late = stage.command('cancel', { agent: agent.name });
      const text = 'Another one!';
      const next = stage.command('send', { agent: agent.name, text });
      const first = await stage.inbox.take(
        (happening) => (happening.kind === 'request' ? happening.frame : undefined),
        'the next message',
        'SendMessageRequest',
        { keep: true },
      );
      if (first.body === 'cancelTurn') connection.send((await stage.request('cancelTurn')).requestId, 'ack');
      const following = await ScriptedTurn.received(stage, agent, next, text);
      await stage.event(late, 'ok', 'CancelTurnRequest');
      await following.text('Once more.').end().complete();
    },
  },
];

const crash = {
  code: 4005,
  name: 'ENGINE_CRASHED',
  message: 'the process that runs the model has crashed; send the message again',
};
