import type { Agent } from '../../graph/agent/agent.ts';
import { splitHistory, parseHistory } from '../../graph/agent/history.ts';
import type { TurnOutcome } from '../../graph/agent/turnOptions.ts';
import { Fault } from '../../protocol/fault.ts';
import { maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { ClientFrameBodies } from '../../protocol/frames.gen.ts';
import { parseClientTools } from '../../graph/compile/clientTools.ts';
import { parseGraph } from '../../graph/compile/graphFolder.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { findJsonExcess, jsonExcesses, maxClientValues } from '../../base/jsonBounds.ts';
import { parseJson } from '../../base/jsonLocations.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { type Handlers, engineNames, type EngineName, type NewAgent, type Session } from './session.ts';
import { modelHandlers, loadWaitFor } from './modelHandlers.ts';
import { searchStorage } from './searchStorage.ts';
import { recordTurnMetrics } from '../metrics/metrics.ts';

/** Request handlers: one for each client message of the proto. */
export const handlers: Handlers = {
  configureSession(session, { engine, storageDataFolder, allowAutoModelDownloading }, reply) {
    session.configure({ engine: parseEngineName(engine), storageDataFolder, autoDownloads: allowAutoModelDownloading });
    reply('configureSession', {});
  },

  async createAgent(session, request, reply) {
    session.assertOpen();
    checkValues('createAgent.graphJson', request.graphJson ?? '');
    checkValues('createAgent.historyJson', request.historyJson);
    checkValues('createAgent.toolsJson', request.toolsJson);
    const graph = await readRequestedGraph(session, request);
    const history = parseHistory(request.historyJson);
    const clientTools = parseClientTools(request.toolsJson);
    const { warmUp, defaultModelName, enableDiagnostics: diagnostics, maxStepsPerTurn: maxSteps } = request;
    const replyCreated = ({ id, warnings }: Agent): void =>
      reply('createAgent', { agentId: id, warnings: takeFitting(warnings, 3 * maxPartBytes) });
    let onWait = (): void => {};
    const waitBegan = new Promise<void>((resolve) => (onWait = resolve));
    const waitFor = (model: string): LoadWait => ({ onWait, ...loadWaitFor(session, model, reply) });
    const told = { graph, clientTools, defaultModelName, diagnostics, maxSteps, history };
    const options: NewAgent = { ...told, loadWaitFor: waitFor };
    const creation = session.createAgent(options, (agent) => warmUp || replyCreated(agent));
    await Promise.race([creation, waitBegan]);
    // Models load and prompts prefill in the background: a later request may be the one that frees a slot.
    if (!warmUp) return { background: creation };
    return { background: creation.then((agent) => session.warmUp(agent).then(() => replyCreated(agent))) };
  },

  setPace({ pace }, limits, reply) {
    pace.set(limits);
    reply('ack', {});
  },

  sendMessage(session, { agentId, text, variables, priority }, reply) {
    session.assertOpen();
    const agent = session.agent(agentId);
    const { metrics, limits } = session.context;
    const { messageBytes } = limits;
    checkSize('sendMessage.text', Buffer.byteLength(text), messageBytes);
    checkSize('sendMessage.variables', Buffer.byteLength(JSON.stringify(variables)), messageBytes);
    const onEnd = (outcome: TurnOutcome): void => {
      recordTurnMetrics(metrics, outcome);
      metrics.add('turngraph_turns_running', {}, -1);
    };
    const listener = { emit: reply, backpressure: session.backpressure, onEnd };
    const turn = agent.send(text, variables, { ...listener, priority });
    metrics.add('turngraph_turns_running', {});
    return { background: turn.then((fault) => fault && logFault(session, agentId, fault)) };
  },

  cancelTurn(session, { agentId, turnId }, reply) {
    session.agent(agentId).cancel(turnId);
    reply('ack', {});
  },

  submitToolResults(session, { agentId, turnId, results }, reply) {
    session.agent(agentId).submitResults(turnId, results);
    reply('ack', {});
  },

  appendDialog(session, { agentId, user, assistant }, reply) {
    const agent = session.agent(agentId);
    if (user === '' && assistant === '')
      throw new Fault('MALFORMED_MESSAGE', 'appendDialog has neither user nor assistant; give at least one of them');
    const { messageBytes } = session.context.limits;
    checkSize('appendDialog.user', Buffer.byteLength(user), messageBytes);
    checkSize('appendDialog.assistant', Buffer.byteLength(assistant), messageBytes);
    agent.append([{ user, assistant }]);
    reply('ack', {});
  },

  async changeParams(session, { agentId, nodeName, paramsJson }, reply) {
    checkValues('changeParams.paramsJson', paramsJson);
    await session.agent(agentId).changeParams(nodeName, parseChanges(paramsJson));
    reply('ack', {});
  },

  async exportDialog(session, { agentId }, reply) {
    const parts = await splitHistory(session.agent(agentId).history);
    const yieldToOthers = createYielder();
    for (const [index, historyJson] of parts.entries()) {
      reply('exportDialog', { part: index + 1, of: parts.length, historyJson });
      await yieldToOthers();
    }
  },

  async clearDialog(session, { agentId }, reply) {
    await session.agent(agentId).clear();
    reply('ack', {});
  },

  async destroyAgent(session, { agentId }, reply) {
    await session.destroyAgent(agentId);
    reply('ack', {});
  },

  ...modelHandlers,

  async createStringStorage(session, request, reply) {
    for (const json of request.metadataJson) checkValues('createStringStorage.metadataJson', json);
    const { list } = await session.createStorage(request);
    reply('createStringStorage', { entries: list.length });
  },

  destroyStringStorage(session, { name }, reply) {
    session.storages.destroy(name);
    reply('ack', {});
  },

  searchStorage(session, request, reply) {
    session.assertOpen();
    const { messageBytes } = session.context.limits;
    checkSize('searchStorage.query', Buffer.byteLength(request.query), messageBytes);
    checkSize('searchStorage.filterJson', Buffer.byteLength(request.filterJson), messageBytes);
    checkValues('searchStorage.filterJson', request.filterJson);
    return { background: searchStorage(session, request, reply) };
  },

  // As the first request of a connection it is handled before the session gets it.
  resumeSession({ context }) {
    context.metrics.add('turngraph_resumes_refused_total', { reason: 'not_first' });
    throw new Fault(
      'SESSION_NOT_RESUMABLE',
      'resumeSession is not the first request of its connection, or has more than 16 KiB; send it first',
    );
  },
};

function logFault({ id, context }: Session, agentId: number, fault: Fault): void {
  const facts = { session: id, agentId, code: fault.code, name: fault.name };
  const { cause } = fault;
  if (fault.name === 'INTERNAL')
    context.log.error({ ...facts, err: cause ?? fault }, 'turn failed with an internal error');
  else context.log.warn(cause ? { ...facts, err: cause } : facts, 'turn failed');
  // It may quote a client, which a cause does not: that is an error of an engine or of the system.
  if (!cause) context.log.debug({ ...facts, message: fault.message }, 'why a turn failed');
}

function checkSize(field: string, bytes: number, maxBytes: number): void {
  if (bytes > maxBytes)
    throw new Fault('LIMIT_EXCEEDED', `${field} has ${bytes} bytes, and ${maxBytes} are allowed; send less`);
}

/** Refuses a JSON text before it is parsed. */
function checkValues(field: string, json: string): void {
  if (findJsonExcess(json, maxClientValues) === 'values')
    throw new Fault('LIMIT_EXCEEDED', `${field} ${jsonExcesses.values}`);
}

function parseEngineName(name: string): EngineName {
  const engine = engineNames.find((known) => known === (name || 'llama-cpp'));
  if (engine) return engine;
  throw new Fault(
    'MALFORMED_MESSAGE',
    `configureSession.engine must be one of ${engineNames.join(', ')}, not "${name}"${didYouMean(name, engineNames)}`,
  );
}

function parseChanges(paramsJson: string): Readonly<Record<string, unknown>> {
  const fault = (): Fault =>
    new Fault('INVALID_PARAM_VALUE', 'changeParams.paramsJson must be a JSON object with the parameters to change');
  const changes = parseJson(paramsJson, fault);
  if (isObject(changes)) return changes;
  throw fault();
}

const maxPathLength = 4096;

async function readRequestedGraph(
  session: Session,
  { graphJson, graphName }: ClientFrameBodies['createAgent'],
): Promise<unknown> {
  if (graphName) return session.context.graphs.read(graphName);
  if (!graphJson) throw new Fault('GRAPH_COMPILATION_FAILED', 'createAgent needs a graph: give graphJson or graphName');
  if (graphJson.length <= maxPathLength && /\.json$/i.test(graphJson)) {
    const fix = 'give the text of the file, or the name of a graph as graphName';
    throw new Fault('GRAPH_COMPILATION_FAILED', `createAgent.graphJson is a path, "${graphJson}"; ${fix}`);
  }
  return parseGraph(graphJson, 'createAgent.graphJson');
}
