// Writes the golden frames, proto/golden/golden.json: an example of every message, as its JSON frame and as the bytes of its
// protobuf frame. It encodes with the built server (npm run build). With --check it writes nothing and exits with code 1 when
// the file is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { clientCodecs, serverCodecs } from '../dist/protocol/codec/codec.js';

const file = fileURLToPath(new URL('../proto/golden/golden.json', import.meta.url));

const graph = { start_node: 'answer', nodes: { answer: { type: 'Generate', params: { stream: false } } } };
const history = [{ user: 'Who are you?', assistant: 'The keeper. Zwölf Räume, 12 €.' }];
const tools = [{ name: 'ring_bell', description: 'Läutet.' }];
const ids = { agentId: 3, turnId: 300 };

/** The examples: [name, sender, frame]; a name begins with that of the message. */
const examples = [
  [
    'ConfigureSessionRequest',
    'client',
    {
      requestId: 1,
      configureSession: {
        engine: 'mock',
        storageDataFolder: 'game/lines',
        allowAutoModelDownloading: true,
        memoryKey: 'e2a3c1d4',
      },
    },
  ],
  [
    'ResumeSessionRequest',
    'client',
    {
      requestId: 1,
      resumeSession: {
        sessionId: '0b6f9a52-6c3e-4d57-9a41-2f2f3d9f7e10',
        resumeToken: 'e2a3c1d4-51f0-4c8e-8a57-7d0f6a1b2c3d',
        lastSeq: 4294967295,
      },
    },
  ],
  [
    'CreateAgentRequest with graph_json',
    'client',
    {
      requestId: 2,
      createAgent: {
        graphJson: JSON.stringify(graph),
        defaultModelName: 'turngraph-demo',
        enableDiagnostics: true,
        maxStepsPerTurn: 200,
        historyJson: JSON.stringify(history),
        warmUp: true,
      },
    },
  ],
  ['CreateAgentRequest with graph_name', 'client', { requestId: 128, createAgent: { graphName: 'lamp-switch' } }],
  [
    'CreateAgentRequest with tools_json',
    'client',
    { requestId: 129, createAgent: { graphName: 'doorkeeper', toolsJson: JSON.stringify(tools) } },
  ],
  [
    'SendMessageRequest',
    'client',
    {
      requestId: 3,
      sendMessage: {
        agentId: 3,
        text: 'Grüß Gott, "Wirt"!\n🦊',
        variables: { place: 'tavern' },
        priority: 'URGENT',
      },
    },
  ],
  ['SetPaceRequest', 'client', { requestId: 3, setPace: { paused: true, maxTokensPerSecond: 15, maxThreads: 2 } }],
  ['ReportFrameRequest', 'client', { requestId: 4, reportFrame: { ms: 21.5, targetMs: 16.7 } }],
  ['CancelTurnRequest', 'client', { requestId: 4, cancelTurn: ids }],
  [
    'SubmitToolResultsRequest',
    'client',
    {
      requestId: 5,
      submitToolResults: {
        ...ids,
        results: [
          {
            callId: 'a1B2c3D4e',
            ok: true,
            content: '{"light": "on"}',
            lifespan: 'DIALOG',
            metadataJson: '{"watts":9}',
          },
          {
            callId: 'Zz9Yy8Xx7',
            ok: false,
            content: 'the bulb is broken',
            lifespan: 'TURN',
            control: { mode: 'MANUAL', endTurn: true, answer: 'One moment, please.' },
          },
        ],
      },
    },
  ],
  [
    'AppendDialogRequest',
    'client',
    { requestId: 5, appendDialog: { agentId: 3, user: 'Is anybody here?', assistant: 'The innkeeper nods.' } },
  ],
  [
    'AppendTextRequest',
    'client',
    { requestId: 5, appendText: { agentId: 3, text: 'Looking it up …', role: 'assistant', notify: true } },
  ],
  ['SetAgentModeRequest', 'client', { requestId: 5, setAgentMode: { agentId: 3, mode: 'MANUAL' } }],
  ['SetVariablesRequest', 'client', { requestId: 5, setVariables: { agentId: 3, variablesJson: '{"player":"Ada"}' } }],
  [
    'ChangeParamsRequest',
    'client',
    {
      requestId: 6,
      changeParams: { agentId: 3, nodeName: 'answer', paramsJson: '{"sampling":{"temperature":0.2},"template":null}' },
    },
  ],
  ['ExportDialogRequest', 'client', { requestId: 7, exportDialog: { agentId: 3 } }],
  ['ClearDialogRequest', 'client', { requestId: 8, clearDialog: { agentId: 3 } }],
  ['DestroyAgentRequest', 'client', { requestId: 9, destroyAgent: { agentId: 3 } }],
  [
    'SuggestModelsRequest',
    'client',
    {
      requestId: 10,
      suggestModels: { purpose: 'chat', minTokensPerSecond: 7.5, maxBytes: 5000000000, languages: ['en', 'de'] },
    },
  ],
  ['ListModelsRequest', 'client', { requestId: 10, listModels: { pageToken: '32' } }],
  ['DownloadModelRequest', 'client', { requestId: 11, downloadModel: { modelName: 'qwen2.5-1.5b' } }],
  ['CancelDownloadRequest', 'client', { requestId: 12, cancelDownload: { modelName: 'qwen2.5-1.5b' } }],
  ['LoadModelRequest', 'client', { requestId: 13, loadModel: { modelName: 'turngraph-demo' } }],
  ['UnloadModelRequest', 'client', { requestId: 14, unloadModel: { modelName: 'turngraph-demo' } }],
  ['DeleteModelRequest', 'client', { requestId: 15, deleteModel: { modelName: 'qwen2.5-1.5b' } }],
  [
    'CreateStringStorageRequest with strings',
    'client',
    {
      requestId: 16,
      createStringStorage: { name: 'greetings', kind: 'MULTIMAP', strings: ['Hallo', 'Moin'], keys: ['de', 'de'] },
    },
  ],
  [
    'CreateStringStorageRequest with a file',
    'client',
    { requestId: 17, createStringStorage: { name: 'refusals', kind: 'MAP', filePath: 'lines/refusals.json' } },
  ],
  [
    'CreateStringStorageRequest of knowledge',
    'client',
    {
      requestId: 80,
      createStringStorage: {
        name: 'lore',
        kind: 'KNOWLEDGE',
        strings: ['The ferry leaves at dawn.'],
        keys: ['ferry'],
        metadataJson: ['{"metadata":{"place":"harbour"},"keys":["boat"],"always":true}'],
      },
    },
  ],
  [
    'SearchStorageRequest',
    'client',
    {
      requestId: 19,
      searchStorage: {
        name: 'lore/town.kb.json',
        query: 'Who rows?',
        match: 'words',
        topK: 5,
        filterJson: '{"level":3}',
      },
    },
  ],
  [
    'CreateStringStorageRequest with entries',
    'client',
    {
      requestId: 20,
      createStringStorage: {
        name: 'facts',
        kind: 'KNOWLEDGE',
        persist: true,
        entries: [{ id: 'oda', text: 'Oda hält Ziegen.' }],
      },
    },
  ],
  [
    'AddKnowledgeRequest',
    'client',
    {
      requestId: 21,
      addKnowledge: {
        storage: 'facts',
        entries: [
          { text: 'The ferry leaves at dawn.', metadataJson: '{"act":2}', keys: ['boat'], always: true },
          { id: 'oda', text: 'Oda sold the goat.' },
        ],
      },
    },
  ],
  ['RemoveKnowledgeRequest', 'client', { requestId: 22, removeKnowledge: { storage: 'facts', ids: ['oda', 'eel'] } }],
  ['ExportStorageRequest', 'client', { requestId: 23, exportStorage: { storage: 'facts' } }],
  ['DestroyStringStorageRequest', 'client', { requestId: 18, destroyStringStorage: { name: 'greetings' } }],
  [
    'SessionReady',
    'server',
    {
      requestId: 0,
      seq: 0,
      sessionReady: {
        protocolVersion: 1,
        sessionId: '0b6f9a52-6c3e-4d57-9a41-2f2f3d9f7e10',
        resumeToken: 'e2a3c1d4-51f0-4c8e-8a57-7d0f6a1b2c3d',
        serverVersion: '0.1.0',
      },
    },
  ],
  ['ConfigureSessionResponse', 'server', { requestId: 1, seq: 1, configureSession: {} }],
  ['ResumeSessionResponse', 'server', { requestId: 1, seq: 0, resumeSession: { replayed: 17, requestsReceived: 5 } }],
  [
    'CreateAgentResponse',
    'server',
    {
      requestId: 2,
      seq: 2,
      createAgent: { agentId: 3, warnings: ['guard has no pattern: this Guardrail never triggers'] },
    },
  ],
  [
    'AnswerText',
    'server',
    { requestId: 3, seq: 3, answerText: { ...ids, nodeName: 'answer', text: 'Grüß dich, 🦊', isDelta: true } },
  ],
  [
    'AnswerText of the client',
    'server',
    { requestId: 5, seq: 4, answerText: { agentId: 3, text: 'Looking it up …', source: 'client' } },
  ],
  [
    'AnswerField',
    'server',
    { requestId: 3, seq: 5, answerField: { ...ids, node: 'answer', name: 'mood', valueJson: '"wütend"' } },
  ],
  [
    'AnswerText that ends the text',
    'server',
    { requestId: 3, seq: 4, answerText: { ...ids, nodeName: 'answer', isFinal: true } },
  ],
  [
    'ToolCallNotification',
    'server',
    {
      requestId: 3,
      seq: 5,
      toolCallNotification: {
        ...ids,
        nodeName: 'detect',
        callIndex: 1,
        callId: 'a1B2c3D4e',
        toolName: 'set_light',
        argumentsJson: '{"name": "porch", "on": "true", "level": "9007199254740993"}',
        typedArgumentsJson: '{"name": "porch", "on": true, "level": 9007199254740993}',
        known: true,
        repaired: true,
        consequential: true,
        because: 'The user asks for light.',
        issues: [
          { code: 'unexpected_param', param: 'level', message: 'set_light has no parameter "level"' },
          { code: 'missing_param', param: 'room', message: 'set_light needs "room"' },
        ],
        awaitsResult: true,
        confidence: 0.75,
      },
    },
  ],
  [
    'NodeEvent after its turn',
    'server',
    {
      requestId: 0,
      seq: 8,
      nodeEvent: {
        ...ids,
        nodeName: 'memory',
        eventType: 'remembered',
        payloadJson: '{"ids": ["remembered-1"], "texts": ["The user hates rats."]}',
        part: 1,
        of: 1,
        mode: 'AUTO',
      },
    },
  ],
  [
    'NodeEvent',
    'server',
    {
      requestId: 3,
      seq: 6,
      nodeEvent: {
        ...ids,
        nodeName: 'guard',
        eventType: 'guardrail_triggered',
        payloadJson: '{"index": 1}',
        part: 1,
        of: 1,
        mode: 'MANUAL',
      },
    },
  ],
  [
    'TurnComplete of a turn that went well',
    'server',
    {
      requestId: 3,
      seq: 70000,
      turnComplete: {
        ...ids,
        status: 'SUCCESS',
        path: [
          { nodeName: 'detect', exit: 'no_tool_called' },
          { nodeName: 'answer', exit: 'default' },
        ],
        stopReason: 'LENGTH',
        tokensPrompt: 412,
        tokensReused: 380,
        tokensGenerated: 2048,
        interactionsDropped: 2,
        interactionsSummarised: 1,
        modelChoices: [{ name: 'turngraph-demo', reason: 'it is loaded; not "large": it is not on disk' }],
        timeToFirstTokenMs: 18.5,
        durationMs: 2412.25,
        warnings: ['answer.params.template names {{mood}}, which this turn does not have'],
        debugInfo: '{"calls":[],"inferences":[]}',
        mode: 'MANUAL',
        resultMetadata: [{ callId: 'a1B2c3D4e', toolName: 'set_light', metadataJson: '{"watts":9}' }],
      },
    },
  ],
  [
    'TurnComplete of a turn that failed',
    'server',
    {
      requestId: 3,
      seq: 8,
      turnComplete: {
        ...ids,
        status: 'ERROR',
        error: { code: 4002, name: 'INFERENCE_TIMEOUT', message: 'the turn took longer than 120 s' },
        stopReason: 'ABORTED',
        tokensPrompt: 32,
        durationMs: 120000.5,
      },
    },
  ],
  [
    'TurnComplete of a turn that was cancelled',
    'server',
    {
      requestId: 3,
      seq: 9,
      turnComplete: { ...ids, status: 'CANCELLED', stopReason: 'ABORTED', tokensPrompt: 32, durationMs: 0.125 },
    },
  ],
  [
    'ExportDialogResponse',
    'server',
    { requestId: 7, seq: 10, exportDialog: { part: 2, of: 2, historyJson: ' there"}]' } },
  ],
  [
    'ListModelsResponse',
    'server',
    {
      requestId: 10,
      seq: 11,
      listModels: {
        models: [
          {
            name: 'turngraph-demo',
            status: 'LOADED',
            pinned: true,
            agents: 2,
            sizeBytes: 9400000,
            contextSize: 2048,
            toolCallFormat: 'chatml',
            toolCallFormatDetected: true,
            huggingfaceRepo: 'someone/turngraph-demo',
            files: ['turngraph-demo.gguf'],
            license: 'MIT',
            defaultSampling: {
              temperature: 0.7,
              topP: 0.95,
              topK: 40,
              minP: 0.05,
              repeatPenalty: 1.1,
              presencePenalty: -0.5,
              frequencyPenalty: 0.25,
              maxTokensPerSecond: 15,
              speculate: 'prompt',
              maxTokens: 2048,
              seed: 4294967295,
            },
            description: 'Small enough for the examples.',
            backend: 'vulkan',
            gpuLayers: 24,
            threads: 2,
            slots: 8,
            weightsBytes: 10100000,
            contextBytes: 55100000,
            slotBytes: 12600000,
            vramBytes: 60000000,
            prefillThreads: 4,
            purpose: 'chat',
            tokensPerSecond: 31.5,
            choice: 'taken: it is loaded',
          },
          { name: 'not-here-yet', status: 'ABSENT', sizeBytes: 5000000000 },
        ],
        nextPageToken: '32',
      },
    },
  ],
  [
    'SuggestModelsResponse',
    'server',
    {
      requestId: 10,
      seq: 11,
      suggestModels: {
        machine: {
          memoryBytes: 16000000000,
          freeMemoryBytes: 9500000000,
          cards: ['Card 7'],
          cardMemoryBytes: 8000000000,
          freeCardMemoryBytes: 7500000000,
          cores: 8,
          bandwidthBytesPerSecond: 29600000000,
          problem: 'whether there is a graphics card is unknown',
          freeDiskBytes: 200000000000,
        },
        models: [
          {
            name: 'tavern-model',
            variant: 'tavern-q4_k_m.gguf',
            status: 'ABSENT',
            downloadBytes: 2500000000,
            memoryBytes: 3600000000,
            tokensPerSecond: 0,
            why: 'it fits on the graphics card',
          },
          {
            name: 'turngraph-demo',
            variant: 'turngraph-demo.gguf',
            status: 'LOADED',
            downloadBytes: 0,
            memoryBytes: 29800000,
            tokensPerSecond: 1200.5,
            why: 'it fits in memory',
          },
        ],
        leftOut: [{ name: 'huge', why: 'it needs about 90.0 GB, and 9.5 GB of memory are free' }],
        more: 3,
      },
    },
  ],
  [
    'ModelProgress of a download',
    'server',
    {
      requestId: 11,
      seq: 12,
      modelProgress: {
        modelName: 'qwen2.5-1.5b',
        phase: 'DOWNLOADING',
        fraction: 0.5,
        bytesDone: 2500000000,
        bytesTotal: 5000000000,
      },
    },
  ],
  [
    'ModelProgress of a load',
    'server',
    { requestId: 13, seq: 13, modelProgress: { modelName: 'turngraph-demo', phase: 'LOADING', fraction: 0.125 } },
  ],
  ['DownloadModelResponse', 'server', { requestId: 11, seq: 14, downloadModel: { sizeBytes: 5000000000 } }],
  ['LoadModelResponse', 'server', { requestId: 13, seq: 15, loadModel: {} }],
  [
    'SearchStorageResponse with the last part',
    'server',
    {
      requestId: 19,
      seq: 17,
      searchStorage: { part: 2, of: 2, hitsJson: 'dawn.","score":2.5,"metadata":{"level":3}}]', found: true },
    },
  ],
  [
    'AddKnowledgeResponse',
    'server',
    {
      requestId: 21,
      seq: 17,
      addKnowledge: { ids: ['0b6f9a52-6c3e-4d57-9a41-2f2f3d9f7e10', 'oda'], warnings: ['1 entry is not used'] },
    },
  ],
  [
    'ExportStorageResponse with the last part',
    'server',
    {
      requestId: 23,
      seq: 18,
      exportStorage: {
        part: 2,
        of: 2,
        entries: [{ id: 'oda', text: 'Oda sold the goat.', metadataJson: '{"act":2}', keys: ['goat'] }],
      },
    },
  ],
  ['CreateStringStorageResponse', 'server', { requestId: 16, seq: 16, createStringStorage: { entries: 2 } }],
  ['Ack', 'server', { requestId: 4, seq: 17, ack: {} }],
  [
    'ErrorResponse',
    'server',
    {
      requestId: 2,
      seq: 18,
      error: {
        code: 3008,
        name: 'INVALID_EXIT_TARGET',
        message: 'answer.exits.default leads to no node: "b"',
        detail:
          '[{"code":"INVALID_EXIT_TARGET","pointer":"/nodes/answer/exits/default","message":"answer.exits.default leads to no node: \\"b\\""}]',
      },
    },
  ],
];

// [the codecs that write the frames of a direction, the codecs that read them]
const sides = { client: [clientCodecs, serverCodecs], server: [serverCodecs, clientCodecs] };

function goldenFrame([name, direction, frame]) {
  const [writers, readers] = sides[direction];
  const decoded = readers['turngraph.v1.json'].decode(JSON.stringify(frame));
  if (!decoded.ok) throw new Error(`${name}: ${decoded.fault.message}`);
  return {
    name,
    direction,
    json: JSON.parse(writers['turngraph.v1.json'].encode(decoded.frame)),
    binary: Buffer.from(writers['turngraph.v1.proto'].encode(decoded.frame)).toString('hex'),
  };
}

const options = { ...(await resolveConfig(file)), filepath: file };
const text = await format(JSON.stringify(examples.map(goldenFrame)), options);
const stale = !existsSync(file) || readFileSync(file, 'utf8') !== text;
if (stale && process.argv.includes('--check')) {
  console.error('proto/golden/golden.json is stale: run node scripts/golden.mjs');
  process.exitCode = 1;
} else if (stale) writeFileSync(file, text);
