import type { Agent } from '../agent/agent.ts';
import { stringifyHistory, parseHistory } from '../agent/history.ts';
import type { TurnOutcome } from '../agent/runningTurn.ts';
import { Fault } from '../fault.ts';
import { maxPartBytes, takeFitting, splitToFrames } from '../frameSize.ts';
import type { ClientFrameBodies } from '../frames.gen.ts';
import { parseGraph } from '../graph/graphFolder.ts';
import type { LoadWait } from '../models/pool/loadWait.ts';
import { didYouMean } from '../didYouMean.ts';
import type { Handlers } from './handler.ts';
import { modelHandlers, loadWaitFor } from './modelHandlers.ts';
import { engineNames, type EngineName, type Session } from './session.ts';
import { recordTurnMetrics } from './turnMetrics.ts';

/** What the server does for each message. */
export const handlers: Handlers = {
  configureSession(session, { engine, storageDataFolder, allowAutoModelDownloading }, reply) {
    session.configure({ engine: engineNamed(engine), storageDataFolder, autoDownloads: allowAutoModelDownloading });
    reply('configureSession', {});
  },

  async createAgent(session, request, reply) {
    session.assertOpen();
    const graph = await graphOf(session, request);
    const history = parseHistory(request.historyJson);
    const { warmUp, defaultModelName, enableDiagnostics: diagnostics, maxStepsPerTurn: maxSteps } = request;
    const made = ({ id, warnings }: Agent): void =>
      reply('createAgent', { agentId: id, warnings: takeFitting(warnings, 3 * maxPartBytes) });
    let onWait = (): void => {};
    const waits = new Promise<void>((resolve) => (onWait = resolve));
    const loading = (model: string): LoadWait => ({ onWait, ...loadWaitFor(session, model, reply) });
    const wanted = { graph, defaultModelName, diagnostics, maxSteps, history, loading };
    const making = session.createAgent(wanted, (agent) => warmUp || made(agent));
    await Promise.race([making, waits]);
    // Models are loaded and prompts evaluated while later requests take effect: they may be what sets a slot free.
    if (!warmUp) return { background: making };
    return { background: making.then((agent) => session.warmUp(agent).then(() => made(agent))) };
  },

  sendMessage(session, { agentId, text, variables }, reply) {
    session.assertOpen();
    const agent = session.agent(agentId);
    const { metrics, limits } = session.context;
    const { messageBytes } = limits;
    checkSize('sendMessage.text', Buffer.byteLength(text), messageBytes);
    checkSize('sendMessage.variables', Buffer.byteLength(JSON.stringify(variables)), messageBytes);
    const onOver = (outcome: TurnOutcome): void => {
      recordTurnMetrics(metrics, outcome);
      metrics.add('turngraph_turns_running', {}, -1);
    };
    const turn = agent.send(text, variables, { emit: reply, backpressure: session.backpressure, onEnd: onOver });
    metrics.add('turngraph_turns_running', {});
    return { background: turn.then((fault) => fault && logFault(session, agentId, fault)) };
  },

  cancelTurn(session, { agentId, turnId }, reply) {
    session.agent(agentId).cancel(turnId);
    reply('ack', {});
  },

  async changeParams(session, { agentId, nodeName, paramsJson }, reply) {
    await session.agent(agentId).changeParams(nodeName, changesOf(paramsJson));
    reply('ack', {});
  },

  exportDialog(session, { agentId }, reply) {
    const parts = splitToFrames(stringifyHistory(session.agent(agentId).history));
    parts.forEach((historyJson, index) => reply('exportDialog', { part: index + 1, of: parts.length, historyJson }));
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
    const { list } = await session.createStorage(request);
    reply('createStringStorage', { entries: list.length });
  },

  destroyStringStorage(session, { name }, reply) {
    session.storages.destroy(name);
    reply('ack', {});
  },

  resumeSession() {
    throw new Fault('SESSION_NOT_RESUMABLE', 'this server ends a session with its connection; make new agents');
  },
  submitToolResults() {
    throw new Fault(
      'NO_RESULTS_AWAITED',
      'no turn of this server waits for results; say what came of a call in the next message',
    );
  },
};

function logFault({ id, context }: Session, agentId: number, fault: Fault): void {
  const facts = { session: id, agentId, code: fault.code, err: fault.cause ?? fault };
  if (fault.name === 'INTERNAL') context.log.error(facts, 'a turn failed inside');
  else context.log.warn(facts, 'turn failed');
}

function checkSize(what: string, bytes: number, allowed: number): void {
  if (bytes > allowed)
    throw new Fault('LIMIT_EXCEEDED', `${what} has ${bytes} bytes, and ${allowed} are allowed; send less`);
}

function engineNamed(name: string): EngineName {
  const engine = engineNames.find((known) => known === (name || 'llama-cpp'));
  if (engine) return engine;
  throw new Fault(
    'MALFORMED_MESSAGE',
    `configureSession.engine must be one of ${engineNames.join(', ')}, not "${name}"${didYouMean(name, engineNames)}`,
  );
}

function changesOf(paramsJson: string): Readonly<Record<string, unknown>> {
  const changes: unknown = jsonOf(paramsJson);
  if (typeof changes === 'object' && changes !== null && !Array.isArray(changes)) return { ...changes };
  throw new Fault('INVALID_PARAM_VALUE', 'changeParams.paramsJson must be a JSON object with the parameters to change');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function graphOf(session: Session, { graphJson, graphName }: ClientFrameBodies['createAgent']): Promise<unknown> {
  if (graphName) return session.context.graphs.read(graphName);
  if (!graphJson) throw new Fault('GRAPH_COMPILATION_FAILED', 'createAgent needs a graph: give graphJson or graphName');
  return parseGraph(graphJson, 'createAgent.graphJson');
}
