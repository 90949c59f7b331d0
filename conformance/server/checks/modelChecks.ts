import type { ModelInfo } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, NotApplicable, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { chat, lamp } from '../graphs.ts';
import { answered, createAgent, exportDialog, refused, runTurn } from '../requests.ts';
import type { ServerCheck, ServerUnderTest } from '../serverUnderTest.ts';

const maxPages = 1000;

/** All models of the server, page by page. */
async function listModels(connection: CheckedConnection): Promise<readonly ModelInfo[]> {
  const models: ModelInfo[] = [];
  let pageToken = '';
  for (let page = 0; page < maxPages; page++) {
    const { listModels: response } = await answered(connection, ['listModels', { pageToken }], 'listModels');
    models.push(...response.models);
    pageToken = response.nextPageToken;
    if (pageToken === '') return models;
  }
  expectThat(false, 'a last page', `${maxPages} pages, each with a token of a next one`, 'ListModelsResponse');
}

/** Connects to a server that has the model. @throws NotApplicable without --model */
async function openWithModel(server: ServerUnderTest): Promise<CheckedConnection> {
  if (server.model === '') throw new NotApplicable('no --model was given');
  const connection = await CheckedConnection.open(server);
  connection.waitForModel();
  return connection;
}

/** The catalogue, and what a model generates. */
export const modelChecks: readonly ServerCheck[] = [
  {
    name: 'All pages of ListModels together name each model once',
    section: 'ListModelsResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const models = await listModels(connection);
      const names = models.map(({ name }) => name);
      expectEqual('names', [...new Set(names)], names);
      const notLoaded = models.filter(({ status }) => status !== 'LOADED');
      const wrong = notLoaded.find(
        ({ backend, slots, weightsBytes }) => backend !== '' || slots > 0 || weightsBytes > 0,
      );
      expectThat(
        wrong === undefined,
        'no backend, slots and weights of a model that is not loaded',
        shown(wrong),
        'ModelInfo',
      );
      if (server.model !== '') expectThat(names.includes(server.model), server.model, names.join(', '));
    },
  },
  {
    name: 'Each model of a purpose is suggested or left out with a reason',
    section: 'SuggestModelsResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const expected = (await listModels(connection)).filter(({ purpose }) => purpose === 'chat').length;
      const { suggestModels: answer } = await answered(connection, ['suggestModels'], 'suggestModels');
      const { machine, models, leftOut, more } = answer;
      expectThat((machine?.memoryBytes ?? 0) > 0, 'a machine with memory', shown(machine));
      expectEqual('number of models', models.length + leftOut.length + more, expected);
      const wordless = [...models, ...leftOut].find(({ why }) => why === '');
      expectThat(wordless === undefined, 'a reason for each model', shown(wordless));
      const { suggestModels: none } = await answered(connection, ['suggestModels', { maxBytes: 1 }], 'suggestModels');
      expectEqual('models of at most one byte', none.models, []);
    },
  },
  {
    name: 'A model of the server streams an answer, which is the text of its dialog',
    section: 'SendMessageRequest',
    async run(server) {
      await using connection = await openWithModel(server);
      const graph = chat({ model_name: server.model, sampling: { max_tokens: 24, seed: 1 } });
      const agentId = await createAgent(connection, graph);
      const turn = await runTurn(connection, agentId, 'Hello!');
      const { status, stopReason, tokensPrompt, tokensGenerated, timeToFirstTokenMs } = turn.complete;
      expectEqual('status', status, 'SUCCESS', 'TurnComplete');
      expectThat(['END', 'LENGTH'].includes(stopReason), 'stopReason END or LENGTH', stopReason, 'TurnComplete');
      const isCounted = tokensPrompt > 0 && tokensGenerated > 0 && tokensGenerated <= 24 && timeToFirstTokenMs > 0;
      expectThat(isCounted, 'numbers of tokens, and a time', shown(turn.complete), 'TurnComplete');
      const pieces = turn.frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText] : []));
      expectThat(
        pieces.every(({ isDelta, isFinal }) => isDelta !== isFinal),
        'isDelta on each text',
        shown(pieces),
        'AnswerText',
      );
      expectEqual('the dialog', await exportDialog(connection, agentId), [{ user: 'Hello!', assistant: turn.text }]);
      const info = (await listModels(connection)).find(({ name }) => name === server.model);
      expectEqual('status of the model', info?.status, 'LOADED', 'ModelInfo');
      expectThat((info?.agents ?? 0) > 0, 'an agent that uses it', shown(info), 'ModelInfo');
    },
  },
  {
    name: 'The fields of an answer come in their order, each whole, and are no part of its text',
    section: 'AnswerField',
    async run(server) {
      await using connection = await openWithModel(server);
      const values = ['calm', 'calm and "cold"', 'zornig 😡'];
      const fields = [
        { name: 'mood', type: 'enum', values },
        { name: 'age', type: 'integer', minimum: 1, maximum: 99 },
      ];
      const params = { model_name: server.model, sampling: { max_tokens: 48, seed: 1 } };
      const graph = chat({ ...params, answer_fields: [...fields, { name: 'say', type: 'speech' }] });
      const agentId = await createAgent(connection, graph);
      const { frames, text } = await runTurn(connection, agentId, 'Hello!');
      const bodies = frames.map(({ body }) => body).filter((body) => body !== 'nodeEvent');
      expectEqual('the first frames', bodies.slice(0, 3), ['answerField', 'answerField', 'answerText']);
      const sent = frames.flatMap((frame) => (frame.body === 'answerField' ? [frame.answerField] : []));
      expectEqual(
        'their names',
        sent.map(({ name }) => name),
        ['mood', 'age'],
      );
      const [mood, age] = sent.map(({ valueJson }) => JSON.parse(valueJson) as unknown);
      expectThat(values.includes(String(mood)), `one of ${shown(values)}`, shown(mood));
      expectThat(Number.isInteger(age), 'a whole number', shown(age));
      expectEqual('the dialog', await exportDialog(connection, agentId), [{ user: 'Hello!', assistant: text }]);
    },
  },
  {
    name: 'A call that a model has to make is notified with arguments of the declared types',
    section: 'ToolCallNotification',
    async run(server) {
      await using connection = await openWithModel(server);
      const params = { model_name: server.model, tool_call_format: '', tool_choice: 'set_light', strict: true };
      const agentId = await createAgent(connection, lamp({ ...params, sampling: { max_tokens: 128, seed: 1 } }));
      const { calls, complete } = await runTurn(connection, agentId, 'Please turn on the porch light.');
      const [call] = calls;
      expectThat(call !== undefined, 'a call', shown(complete));
      expectEqual('tool, known and issues', [call.toolName, call.known, call.issues], ['set_light', true, []]);
      const typed = JSON.parse(call.typedArgumentsJson) as Readonly<Record<string, unknown>>;
      expectEqual('types of the arguments', [typeof typed['name'], typeof typed['on']], ['string', 'boolean']);
      const texts = Object.entries(typed).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]);
      expectEqual('argumentsJson', JSON.parse(call.argumentsJson), Object.fromEntries(texts));
      const { confidence = 1 } = call;
      expectThat(confidence >= 0 && confidence <= 1, 'no confidence, or one from 0 to 1', shown(confidence));
    },
  },
  {
    name: 'A loaded model is pinned until it is unloaded',
    section: 'LoadModelRequest',
    async run(server) {
      await using connection = await openWithModel(server);
      const modelName = server.model;
      const isPinned = async (): Promise<boolean | undefined> =>
        (await listModels(connection)).find(({ name }) => name === modelName)?.pinned;
      if (await isPinned()) throw new NotApplicable(`${modelName} is pinned already`);
      await answered(connection, ['loadModel', { modelName }], 'loadModel');
      expectEqual('pinned', await isPinned(), true, 'ModelInfo');
      await answered(connection, ['unloadModel', { modelName }], 'ack');
      expectEqual('pinned after unloadModel', await isPinned(), false, 'UnloadModelRequest');
      await refused(connection, ['unloadModel', { modelName: `${modelName}?` }], 'UNKNOWN_MODEL', 'UnloadModelRequest');
    },
  },
];
