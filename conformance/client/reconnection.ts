import type { Fault } from '../../src/protocol/fault.ts';
import { ConformanceFailure, expectEqual, expectThat, shown } from '../expect.ts';
import type { FramePayload } from './futureFrames.ts';
import type { ScriptedConnection, ClientRequest } from './scriptedConnection.ts';
import type { ScriptedSession } from './scriptedSession.ts';
import type { ScriptedTurn } from './scriptedTurn.ts';
import type { Stage } from './stage.ts';

/** What a client does after a connection that broke. */
export interface ReconnectionScript {
  /** The session of the connection that broke. */
  readonly session: ScriptedSession;
  /** Turns that have not ended. */
  readonly turns?: readonly ScriptedTurn[];
  /** Commands that may have no answer when the client does not resume. */
  readonly commands?: readonly number[];
  /** Refuses to resume. */
  readonly refuse?: Fault;
  /** Replays other than all missed frames. */
  readonly replay?: (connection: ScriptedConnection, missed: readonly FramePayload[]) => void;
}

/**
 * Waits until the client has connected again and resumed its session, or created its agents again in a new one, and checks
 * both ways.
 */
export async function reconnection(stage: Stage, script: ReconnectionScript): Promise<'resumed' | 'restarted'> {
  const { session, turns = [], commands = [], refuse } = script;
  const waiting = [...turns.map(({ commandId }) => commandId), ...commands];
  for (const id of waiting) stage.inbox.mayFail.add(id);
  const connection = await stage.accepted();
  const resume = await firstRequest(stage, connection);
  if (resume && !refuse) {
    for (const id of waiting) stage.inbox.mayFail.delete(id);
    resumeSession(resume, script);
    for (const turn of turns) turn.connection = connection;
    await stage.connectionEvent('resumed');
    return 'resumed';
  }
  if (resume && refuse) await refuseResume(stage, resume, refuse);
  await createAgents(stage, session);
  for (const turn of turns) await turn.failed([1002]);
  for (const id of commands) await stage.error(id, [1002], 'Error codes');
  await stage.connectionEvent('restarted');
  return 'restarted';
}

// The resumeSession of a client that resumes; undefined: it creates its agents again.
async function firstRequest(
  stage: Stage,
  connection: ScriptedConnection,
): Promise<ClientRequest<'resumeSession'> | undefined> {
  const first = await stage.inbox.take(
    (happening) => (happening.kind === 'request' && happening.connection === connection ? happening : undefined),
    'resumeSession, or createAgent for each agent, on the new connection',
    'Resume',
    { keep: true },
  );
  return first.frame.body === 'resumeSession' ? stage.request('resumeSession', 'Resume') : undefined;
}

function resumeSession(
  { requestId, fields, connection }: ClientRequest<'resumeSession'>,
  { session, replay }: ReconnectionScript,
): void {
  checkResume(fields, connection, session);
  connection.session = session;
  const missed = session.sent.filter(({ seq }) => seq > fields.lastSeq);
  const requestsReceived = session.received.length;
  connection.sendUncounted(requestId, 'resumeSession', { replayed: missed.length, requestsReceived });
  const payloads = missed.map(({ payload }) => payload);
  if (replay) replay(connection, payloads);
  else for (const payload of payloads) connection.sendAgain(payload);
}

function checkResume(
  fields: ClientRequest<'resumeSession'>['fields'],
  connection: ScriptedConnection,
  session: ScriptedSession,
): void {
  const { sessionId, resumeToken, lastSeq } = fields;
  const section = 'ResumeSessionRequest';
  expectEqual('the session_id of the session to resume', sessionId, session.id, section);
  expectEqual('its resume_token', resumeToken, session.token, section);
  expectThat(lastSeq < session.nextSeq, `a last_seq of at most ${session.nextSeq - 1}`, shown(lastSeq), section);
  const asked = new URL(connection.path, 'ws://localhost').searchParams.get('session');
  expectThat(asked === session.id, `the parameter session=${session.id} in the address`, connection.path, 'Resume');
  expectThat(connection.received === 1, 'resumeSession as the first frame', `frame ${connection.received}`, section);
}

// The client goes on with the session that began with this connection, or opens another connection.
async function refuseResume(stage: Stage, resume: ClientRequest<'resumeSession'>, refuse: Fault): Promise<void> {
  const connection = stage.leave();
  connection.refuse(resume.requestId, refuse);
  const isNew = await stage.inbox.take(
    (happening) => {
      if (happening.kind === 'handshake') return true;
      return happening.kind === 'request' && happening.frame.body === 'createAgent' ? false : undefined;
    },
    'createAgent on this connection, or a new one',
    'Resume',
    { keep: true },
  );
  if (isNew) await stage.accepted();
  else stage.use(connection);
}

async function createAgents(stage: Stage, old: ScriptedSession): Promise<void> {
  const waiting = new Set(stage.agents);
  while (waiting.size > 0) {
    const request = await stage.request('createAgent', 'CreateAgentRequest');
    expectThat(request.connection.session !== old, 'the agents in a new session', 'them in the old one', 'Resume');
    const agent = [...waiting].find((candidate) => candidate.matches(request.fields));
    if (!agent)
      throw new ConformanceFailure('each agent once, with its graph', shown(request.fields), 'CreateAgentRequest');
    waiting.delete(agent);
    agent.check(request.fields);
    agent.accept(request);
  }
}
