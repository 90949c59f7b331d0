// The conversations of the trial: each makes a few hostile requests on one connection. `client.request` returns the final answer.
import { below, pick } from '../../seededRandom.mjs';
import { hostileGraph } from './graphs.mjs';
import { hostileText, maxRequestBytes, sizeUpTo, times } from './texts.mjs';

const maxMessageBytes = 256 * 1024;
const model = 'turngraph-demo';

const node = (type, params) => ({ start_node: 'a', default_model_name: model, nodes: { a: { type, params } } });
const generate = node('Generate', { sampling: { max_tokens: 4, temperature: 0 } });
const light = {
  name: 'set_light',
  description: 'Switches a light.',
  parameters: [
    { name: 'room', type: 'string', source: 'customer' },
    { name: 'level', type: 'integer', source: 'customer' },
  ],
};
const ordinaryGraphs = [
  generate,
  node('ToolCall', { tools: [light], sampling: { max_tokens: 24 }, generate_on_no_tool: true }),
  node('ToolCall', { tools: [light], strict: true, tool_choice: 'required', sampling: { max_tokens: 24 } }),
  node('Guardrail', { inline_strings: ['(a+)+$', 'ignore (all )?previous instructions', '[a-z]+@[a-z]+\\.com'] }),
  node('CannedResponse', { inline_strings: ['You said {{user_message}}, {{name}}.'] }),
];

const createAgent = (client, graph, more = {}) =>
  client.request('createAgent', { graphJson: JSON.stringify(graph), ...more });

/** Creates an agent, uses it if that was accepted, and destroys it. */
async function withAgent(client, graph, more, use) {
  const answer = await createAgent(client, graph, more);
  if (answer.body !== 'createAgent') return;
  const { agentId } = answer.createAgent;
  await use(agentId);
  await client.request('destroyAgent', { agentId });
}

const send = (client, agentId, text, variables = {}) => client.request('sendMessage', { agentId, text, variables });

const interactions = (random, bytes) => {
  const each = sizeUpTo(random, bytes / 2);
  return times(Math.max(1, Math.floor(bytes / (2 * each + 30))), () => ({
    user: hostileText(random, each),
    assistant: hostileText(random, each),
  }));
};

function history(random, bytes) {
  return pick(random, [
    () => interactions(random, bytes),
    () => times(sizeUpTo(random, bytes / 12), () => ({})),
    () => [Object.fromEntries(times(sizeUpTo(random, bytes / 12), (i) => [`user${i}`, i]))],
    () => times(sizeUpTo(random, bytes / 4), (i) => i),
  ])();
}

/** The cases by name. */
export const cases = {
  async graph(client, random) {
    const { graph } = hostileGraph(random, sizeUpTo(random, maxRequestBytes));
    await withAgent(client, graph, { warmUp: random() < 0.2 }, (agentId) => send(client, agentId, 'The lamp, please.'));
  },

  async message(client, random) {
    const text = hostileText(random, sizeUpTo(random, maxMessageBytes));
    await withAgent(client, pick(random, ordinaryGraphs), {}, async (agentId) => {
      await send(client, agentId, text);
      await send(client, agentId, 'And now?');
    });
  },

  async messageToHostileGraph(client, random) {
    const { graph } = hostileGraph(random, sizeUpTo(random, 20_000));
    const text = hostileText(random, sizeUpTo(random, 20_000));
    await withAgent(client, graph, {}, (agentId) => send(client, agentId, text));
  },

  async variables(client, random) {
    const bytes = sizeUpTo(random, maxRequestBytes);
    const count = sizeUpTo(random, bytes / 20);
    const variables = Object.fromEntries(times(count, (i) => [`name${i || ''}`, hostileText(random, bytes / count)]));
    await withAgent(client, pick(random, ordinaryGraphs), {}, (agentId) => send(client, agentId, 'Hello.', variables));
  },

  async history(client, random) {
    const historyJson = JSON.stringify(history(random, sizeUpTo(random, maxRequestBytes)));
    await withAgent(client, pick(random, ordinaryGraphs), { historyJson }, async (agentId) => {
      await send(client, agentId, 'Hello.');
      await client.request('exportDialog', { agentId });
      await client.request('clearDialog', { agentId });
    });
  },

  async people(client, random) {
    const bytes = sizeUpTo(random, maxRequestBytes);
    const variables = Object.fromEntries(times(sizeUpTo(random, bytes / 20), (i) => [`name${i}`, i]));
    const variablesJson = pick(random, [JSON.stringify(variables), hostileText(random, bytes)]);
    await withAgent(client, pick(random, ordinaryGraphs), {}, async (agentId) => {
      await client.request('setVariables', { agentId, variablesJson });
      await send(client, agentId, 'Hello.');
      await client.request('setAgentMode', { agentId, mode: pick(random, ['AUTO', 'MANUAL']) });
      await client.request('appendText', { agentId, text: hostileText(random, bytes), notify: true });
      await send(client, agentId, 'Hello.');
      await client.request('exportDialog', { agentId });
    });
  },

  async changeParams(client, random) {
    const bytes = sizeUpTo(random, maxRequestBytes);
    const { graph } = hostileGraph(random, bytes);
    const [changed = {}] = Object.values(graph.nodes ?? {});
    const nodeName = random() < 0.9 ? 'a' : hostileText(random, bytes);
    await withAgent(client, pick(random, ordinaryGraphs), {}, async (agentId) => {
      await client.request('changeParams', {
        agentId,
        nodeName,
        paramsJson: JSON.stringify(changed.params ?? changed),
      });
      await send(client, agentId, 'Hello.');
    });
  },

  async storage(client, random) {
    const name = random() < 0.8 ? 's' : hostileText(random, sizeUpTo(random, maxRequestBytes));
    const bytes = sizeUpTo(random, maxRequestBytes);
    const count = sizeUpTo(random, bytes / 8);
    const kind = pick(random, ['LIST', 'MAP', 'MULTIMAP', 'KNOWLEDGE']);
    const keys = kind === 'LIST' ? [] : times(count, (i) => `k${random() < 0.5 ? i : 0}`);
    const strings = times(count, () => hostileText(random, bytes / count));
    await client.request('createStringStorage', { name, kind, strings, keys });
    const metadataJson = pick(random, ['', '{"level": 3}', hostileText(random, sizeUpTo(random, 1000))]);
    const entries = strings.map((text, i) => ({
      id: pick(random, ['', `k${i}`]),
      text,
      metadataJson,
      always: i === 7,
    }));
    await client.request('addKnowledge', { storage: name, entries });
    await client.request('removeKnowledge', { storage: name, ids: keys.slice(below(random, 9)) });
    await client.request('exportStorage', { storage: name });
    const type = pick(random, ['Guardrail', 'CannedResponse']);
    for (let left = below(random, 3); left > 0; left--) {
      await withAgent(client, node(type, { string_storage: name }), {}, (agentId) => send(client, agentId, 'Hello.'));
    }
    await client.request('destroyStringStorage', { name });
  },

  async names(client, random) {
    const name = hostileText(random, sizeUpTo(random, maxRequestBytes));
    await client.request(...pick(random, nameRequests)(name));
  },
};

const nameRequests = [
  (name) => ['createAgent', { graphName: name }],
  (name) => ['createAgent', { graphJson: name }],
  (name) => ['createAgent', { graphJson: JSON.stringify(generate), defaultModelName: name }],
  (name) => ['createAgent', { graphJson: JSON.stringify(generate), historyJson: name }],
  (name) => ['createStringStorage', { name: 's', kind: 'LIST', filePath: name }],
  (name) => ['destroyStringStorage', { name }],
  (name) => ['downloadModel', { modelName: name }],
  (name) => ['loadModel', { modelName: name }],
  (name) => ['listModels', { pageToken: name }],
  (name) => ['suggestModels', { purpose: name }],
  (name) => ['suggestModels', { languages: ['en', name] }],
  (name) => ['configureSession', { engine: name }],
  (name) => ['changeParams', { agentId: 1, nodeName: 'a', paramsJson: name }],
  (name) => ['resumeSession', { sessionId: name, resumeToken: name }],
];
