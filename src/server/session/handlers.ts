import type { Agent } from '../../graph/agent/agent.ts';
import { maxVariableBytes } from '../../graph/agent/agentState.ts';
import { splitHistory, parseHistory } from '../../graph/agent/history.ts';
import { textFrames } from '../../graph/agent/turnAnswer.ts';
import { Fault, malformed } from '../../protocol/fault.ts';
import { describeValue } from '../../protocol/codec/wellFormed.ts';
import { maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { ClientFrameBodies } from '../../protocol/frames.gen.ts';
import { parseClientTools } from '../../graph/compile/clientTools.ts';
import { parseGraph } from '../../graph/compile/graphFolder.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import { createYielder } from '../../base/eventLoop.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { parseUniqueJson } from '../../base/jsonLocations.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { acknowledged, type Handlers, engineNames, type EngineName, logFault, type Session } from './session.ts';
import { modelHandlers, loadWaitFor } from './modelHandlers.ts';
import { checkSize, checkValues } from './requestChecks.ts';
import { storageHandlers } from './storageHandlers.ts';
import { turnRecorder } from '../metrics/metrics.ts';

const maxKeyLength = 256;

/** Request handlers: one for each client message of the proto. */
export const handlers: Handlers = {
  configureSession(session, { engine, storageDataFolder, allowAutoModelDownloading: autoDownloads, memoryKey }, reply) {
    if (memoryKey.length > maxKeyLength)
      throw new Fault('MALFORMED_MESSAGE', `configureSession.memoryKey has more than ${maxKeyLength} characters`);
    session.configure({ engine: parseEngineName(engine), storageDataFolder, autoDownloads, memoryKey });
    reply('configureSession', {});
  },

  async createAgent(session, request, reply) {
    session.assertOpen();
    for (const field of ['graphJson', 'historyJson', 'toolsJson'] as const)
      checkValues(`createAgent.${field}`, request[field] ?? '');
    const graph = await readRequestedGraph(session, request);
    const history = parseHistory(request.historyJson);
    const clientTools = parseClientTools(request.toolsJson);
    const { warmUp, defaultModelName, enableDiagnostics: diagnostics, maxStepsPerTurn: maxSteps } = request;
    const replyCreated = ({ id, warnings }: Agent): void =>
      reply('createAgent', { agentId: id, warnings: takeFitting(warnings, 3 * maxPartBytes) });
    let onWait = (): void => {};
    const waitBegan = new Promise<void>((resolve) => (onWait = resolve));
    const waitFor = (model: string): LoadWait => ({ onWait, ...loadWaitFor(session, model, reply) });
    const told = { graph, clientTools, defaultModelName, diagnostics, maxSteps, history, loadWaitFor: waitFor };
    const creation = session.createAgent(told, (agent) => warmUp || replyCreated(agent));
    await Promise.race([creation, waitBegan]);
    // Models load and prompts prefill in the background: a later request may be the one that frees a slot.
    if (!warmUp) return { background: creation };
    return { background: creation.then((agent) => session.warmUp(agent).then(() => replyCreated(agent))) };
  },

  setPace: acknowledged(({ pace }, limits) => pace.set(limits)),

  reportFrame: acknowledged(({ frames }, { ms, targetMs }) => frames.report(ms, targetMs)),

  sendMessage(session, { agentId, text, variables, priority }, reply) {
    session.assertOpen();
    const agent = session.agent(agentId);
    const { metrics, limits } = session.context;
    const { maxMessageBytes } = limits;
    checkSize('sendMessage.text', text, maxMessageBytes);
    checkSize('sendMessage.variables', JSON.stringify(variables), maxMessageBytes);
    const { backpressure } = session;
    const turn = agent.send(text, variables, { emit: reply, backpressure, onEnd: turnRecorder(metrics), priority });
    metrics.add('turngraph_turns_running', {});
    return { background: turn.then((fault) => fault && logFault(session, agentId, fault, 'turn')) };
  },

  cancelTurn: acknowledged((session, { agentId, turnId }) => session.agent(agentId).cancel(turnId)),

  submitToolResults: acknowledged((session, { agentId, turnId, results }) => {
    session.agent(agentId).submitResults(turnId, results);
  }),

  appendDialog: acknowledged((session, { agentId, user, assistant }) => {
    const agent = session.agent(agentId);
    if (user === '' && assistant === '')
      throw malformed('appendDialog has neither user nor assistant; give at least one of them');
    const { maxMessageBytes } = session.context.limits;
    checkSize('appendDialog.user', user, maxMessageBytes);
    checkSize('appendDialog.assistant', assistant, maxMessageBytes);
    agent.append([{ user, assistant }]);
  }),

  appendText(session, { agentId, text, role, notify }, reply) {
    const agent = session.agent(agentId);
    if (role !== '' && role !== 'assistant' && role !== 'user')
      throw malformed(`appendText.role must be "assistant" or "user", not ${describeValue(role)}`);
    if (text === '') throw malformed('appendText.text is empty; give what was said');
    checkSize('appendText.text', text, session.context.limits.maxMessageBytes);
    const place = { agentId, turnId: 0, nodeName: '' };
    const notifyHere = (): void => {
      for (const frame of textFrames(text, 'whole', 'client')) reply('answerText', { ...place, ...frame });
    };
    const notifyTurn = agent.appendText(text, role || 'assistant');
    if (notify) (notifyTurn ?? notifyHere)(text);
    reply('ack', {});
  },

  setAgentMode: acknowledged((session, { agentId, mode }) => session.agent(agentId).setMode(mode)),

  setVariables: acknowledged((session, { agentId, variablesJson }) => {
    const agent = session.agent(agentId);
    checkSize('setVariables.variablesJson', variablesJson, maxVariableBytes);
    checkValues('setVariables.variablesJson', variablesJson);
    agent.setVariables(variablesJson);
  }),

  changeParams: acknowledged((session, { agentId, nodeName, paramsJson }) => {
    checkValues('changeParams.paramsJson', paramsJson);
    return session.agent(agentId).changeParams(nodeName, parseChanges(paramsJson));
  }),

  async exportDialog(session, { agentId }, reply) {
    const parts = await splitHistory(session.agent(agentId).history);
    const yieldToOthers = createYielder();
    for (const [index, historyJson] of parts.entries()) {
      reply('exportDialog', { part: index + 1, of: parts.length, historyJson });
      await yieldToOthers();
    }
  },

  clearDialog: acknowledged((session, { agentId }) => session.agent(agentId).clear()),

  destroyAgent: acknowledged((session, { agentId }) => session.destroyAgent(agentId)),

  ...modelHandlers,

  ...storageHandlers,

  // As the first request of a connection it is handled before the session gets it.
  resumeSession({ context }) {
    context.metrics.add('turngraph_resumes_refused_total', { reason: 'not_first' });
    throw new Fault(
      'SESSION_NOT_RESUMABLE',
      'resumeSession is not the first request of its connection, or has more than 16 KiB; send it first',
    );
  },
};

function parseEngineName(name: string): EngineName {
  const engine = engineNames.find((known) => known === (name || 'llama-cpp'));
  if (engine) return engine;
  throw malformed(
    `configureSession.engine must be one of ${engineNames.join(', ')}, not "${name}"${didYouMean(name, engineNames)}`,
  );
}

function parseChanges(paramsJson: string): Readonly<Record<string, unknown>> {
  const fault = (problem = 'must be a JSON object'): Fault =>
    new Fault('INVALID_PARAM_VALUE', `changeParams.paramsJson ${problem}; give the parameters to change`);
  const changes = parseUniqueJson(paramsJson, fault);
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
