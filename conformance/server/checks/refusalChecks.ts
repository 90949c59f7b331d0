import type { ClientFrameBodies, CodeName } from '../../../src/protocol/frames.gen.ts';
import { expectEqual } from '../../expect.ts';
import type { ProtocolSection } from '../../sections.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import { answered, createAgent, exportDialog, refused, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

type AnyRequest = {
  readonly [Body in keyof ClientFrameBodies]: readonly [body: Body, fields: Partial<ClientFrameBodies[Body]>];
}[keyof ClientFrameBodies];

/** A request that is refused, of a session whose agent 1 answers `Yes.`. */
interface Refusal {
  readonly what: string;
  readonly request: AnyRequest;
  readonly code: CodeName;
  readonly section: ProtocolSection;
}

const noModel = 'conformance-no-such-model';

const graphRefusals: readonly (readonly [what: string, graph: object, code: CodeName])[] = [
  ['a node of an unknown type', { start_node: 'a', nodes: { a: { type: 'Nothing' } } }, 'GRAPH_COMPILATION_FAILED'],
  ['an unknown start node', { ...canned('Yes.'), start_node: 'b' }, 'GRAPH_COMPILATION_FAILED'],
  [
    'an unknown parameter',
    { start_node: 'a', nodes: { a: { type: 'CannedResponse', params: { lines: ['Yes.'] } } } },
    'GRAPH_COMPILATION_FAILED',
  ],
  [
    'a pattern with lookahead',
    { start_node: 'a', nodes: { a: { type: 'Guardrail', params: { inline_strings: ['(?=x)'] } } } },
    'GRAPH_COMPILATION_FAILED',
  ],
  [
    'an exit to an unknown node',
    {
      start_node: 'a',
      nodes: { a: { type: 'CannedResponse', params: { inline_strings: ['a'] }, exits: { default: 'b' } } },
    },
    'INVALID_EXIT_TARGET',
  ],
  ['a model that the catalogue does not have', generating(noModel), 'UNKNOWN_MODEL'],
  ['no model for a node that needs one', generating(''), 'GRAPH_COMPILATION_FAILED'],
  ['a string storage that is missing', withStorage('conformance no such storage'), 'STORAGE_FILE_NOT_FOUND'],
  ['a string storage outside of the folder', withStorage('../lines.txt'), 'STORAGE_OUTSIDE_ROOT'],
];

const ringBell = { name: 'ring_bell', description: 'Ring the bell.' };
const agentFields = { graphJson: JSON.stringify(canned('Yes.')) };

const createRefusals: readonly (readonly [
  what: string,
  fields: Partial<ClientFrameBodies['createAgent']>,
  code: CodeName,
])[] = [
  ['no graph', {}, 'GRAPH_COMPILATION_FAILED'],
  ['an empty graph', { graphJson: '' }, 'GRAPH_COMPILATION_FAILED'],
  ['a graph that is no JSON', { graphJson: '{' }, 'GRAPH_COMPILATION_FAILED'],
  ['a graph and a name', { ...agentFields, graphName: 'chat' }, 'MALFORMED_MESSAGE'],
  ['an unknown graph name', { graphName: 'conformance-no-such-graph' }, 'GRAPH_COMPILATION_FAILED'],
  ['a graph name out of the folder', { graphName: '../package' }, 'GRAPH_COMPILATION_FAILED'],
  ['a history that is no JSON', { ...agentFields, historyJson: '[' }, 'MALFORMED_MESSAGE'],
  ['a history of another form', { ...agentFields, historyJson: '[{"user": "Hello"}]' }, 'MALFORMED_MESSAGE'],
  ['tools that are no JSON', { ...agentFields, toolsJson: '[' }, 'MALFORMED_MESSAGE'],
  ['a tool that no node names', { ...agentFields, toolsJson: JSON.stringify([ringBell]) }, 'GRAPH_COMPILATION_FAILED'],
  ['more steps than the limit', { ...agentFields, maxStepsPerTurn: 0xffff_ffff }, 'LIMIT_EXCEEDED'],
];

const frameRefusals = [
  ['negative milliseconds', -1, 16],
  ['no target', 16, 0],
  ['a negative target', 16, -16],
] as const;

const refusals: readonly Refusal[] = [
  ...createRefusals.map(([what, fields, code]) => createRefusal(what, fields, code)),
  ...graphRefusals.map(([what, graph, code]) =>
    createRefusal(`a graph with ${what}`, { graphJson: JSON.stringify(graph) }, code),
  ),
  ...frameRefusals.map(([what, ms, targetMs]): Refusal => ({
    what: `a frame time with ${what}`,
    request: ['reportFrame', { ms, targetMs }],
    code: 'MALFORMED_MESSAGE',
    section: 'ReportFrameRequest',
  })),
  {
    what: 'configureSession after an agent was created',
    request: ['configureSession', { engine: 'mock' }],
    code: 'MALFORMED_MESSAGE',
    section: 'ConfigureSessionRequest',
  },
  {
    what: 'resumeSession that is not the first frame of its connection',
    request: ['resumeSession', { sessionId: 'x', resumeToken: 'y', lastSeq: 1 }],
    code: 'SESSION_NOT_RESUMABLE',
    section: 'ResumeSessionRequest',
  },
  {
    what: 'submitToolResults to an agent in no turn',
    request: ['submitToolResults', { agentId: 1, results: [] }],
    code: 'NO_RESULTS_AWAITED',
    section: 'SubmitToolResultsRequest',
  },
  {
    what: 'listModels with an invalid token',
    request: ['listModels', { pageToken: 'conformance' }],
    code: 'MALFORMED_MESSAGE',
    section: 'ListModelsRequest',
  },
  ...(
    [
      ['a purpose that there is not', { purpose: 'conformance' }],
      ['a negative speed', { minTokensPerSecond: -1 }],
      ['a negative size', { maxBytes: -1 }],
      ['a language that there is not', { languages: ['en', 'xx'] }],
    ] as const
  ).map(([what, fields]): Refusal => ({
    what: `suggestModels with ${what}`,
    request: ['suggestModels', fields],
    code: 'MALFORMED_MESSAGE',
    section: 'SuggestModelsRequest',
  })),
  ...(
    [
      ['loadModel', 'LoadModelRequest'],
      ['unloadModel', 'UnloadModelRequest'],
      ['downloadModel', 'DownloadModelRequest'],
      ['cancelDownload', 'CancelDownloadRequest'],
      ['deleteModel', 'DeleteModelRequest'],
    ] as const
  ).map(([body, section]): Refusal => ({
    what: `${body} with a model that the catalogue does not have`,
    request: [body, { modelName: noModel }],
    code: 'UNKNOWN_MODEL',
    section,
  })),
];

const configureRefusals = [
  ['an unknown engine', { engine: 'none' }, 'MALFORMED_MESSAGE'],
  ['a folder out of the storage root', { storageDataFolder: '../x' }, 'STORAGE_OUTSIDE_ROOT'],
  ['an absolute folder', { storageDataFolder: '/x' }, 'STORAGE_OUTSIDE_ROOT'],
] as const satisfies readonly (readonly [string, Partial<ClientFrameBodies['configureSession']>, CodeName])[];

/** Requests that are refused, and what is left of the session afterwards. */
export const refusalChecks: readonly ServerCheck[] = [
  ...configureRefusals.map(([what, fields, code]): ServerCheck => ({
    name: `configureSession with ${what} is refused with ${code}`,
    section: 'ConfigureSessionRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await refused(connection, ['configureSession', fields], code);
      await answered(connection, ['configureSession'], 'configureSession');
    },
  })),
  ...refusals.map(({ what, request, code, section }): ServerCheck => ({
    name: `${what} is refused with ${code}`,
    section,
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await createAgent(connection, canned('Yes.'));
      await refused(connection, request, code);
    },
  })),
  {
    name: 'A session goes on unchanged after each refused request',
    section: 'ErrorResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.', 'No.'));
      await runTurn(connection, agentId, 'First?');
      for (const { request, code, section } of refusals) await refused(connection, request, code, section);
      const { complete, text } = await runTurn(connection, agentId, 'Second?');
      expectEqual('turn and text', [complete.turnId, text], [2, 'No.']);
      const expected = [
        { user: 'First?', assistant: 'Yes.' },
        { user: 'Second?', assistant: 'No.' },
      ];
      expectEqual('the dialog', await exportDialog(connection, agentId), expected);
      expectEqual('the id of the next agent', await createAgent(connection, canned('Yes.')), 2);
    },
  },
];

function createRefusal(what: string, fields: Partial<ClientFrameBodies['createAgent']>, code: CodeName): Refusal {
  return { what: `createAgent with ${what}`, request: ['createAgent', fields], code, section: 'CreateAgentRequest' };
}

function generating(model_name: string): object {
  return { start_node: 'a', nodes: { a: { type: 'Generate', params: { model_name } } } };
}

function withStorage(string_storage: string): object {
  return { start_node: 'a', nodes: { a: { type: 'CannedResponse', params: { string_storage } } } };
}
