// GENERATED from proto/turngraph/v1/wire.proto by npm run gen. Do not edit.

/** The first frame on every connection, sent before any request. */
export interface SessionReady {
  /** Version of this protocol: 1. */
  readonly protocolVersion: number;
  readonly sessionId: string;
  /** Secret for resume_session on a later connection. */
  readonly resumeToken: string;
  readonly serverVersion: string;
}

/** Settings of the session; optional, and only before its first agent is created. */
export interface ConfigureSessionRequest {
  /** "llama-cpp" (also when empty) or "mock". */
  readonly engine: string;
  /** Folder of the session's storages, relative to the server's storage root. */
  readonly storageDataFolder: string;
  /** Whether create_agent may download a model that is not on disk. */
  readonly allowAutoModelDownloading: boolean;
  /** A secret of the player, at most 256 characters, by which storages with persist are kept; empty = none is. */
  readonly memoryKey: string;
}

export interface ConfigureSessionResponse {
}

/** Replaces the pace of the session, which all its turns share; applies at once, also to turns that are running. */
export interface SetPaceRequest {
  /** No token is computed until a later request sets it to false. Paused time does not count for the time limit of a turn. */
  readonly paused: boolean;
  /** Of all turns together; 0 = no limit. */
  readonly maxTokensPerSecond: number;
  /** Of a batch with tokens of this session; 0 = no limit. */
  readonly maxThreads: number;
}

/** How long the frames of the game take. As long as they take longer than they may, the session gets less of the machine. */
export interface ReportFrameRequest {
  /** Milliseconds: the 95th percentile since the last report. */
  readonly ms: number;
  /** Milliseconds that a frame may take. */
  readonly targetMs: number;
}

/** Resumes an earlier session; only as the first request of a connection. */
export interface ResumeSessionRequest {
  readonly sessionId: string;
  readonly resumeToken: string;
  /** The highest seq that the client has received. */
  readonly lastSeq: number;
}

/** Followed by the missed frames. */
export interface ResumeSessionResponse {
  /** Number of frames after last_seq; they follow, with their own request_id and seq. */
  readonly replayed: number;
  /** Number of frames of the client that the session has received: the client sends the later ones again, and no others. */
  readonly requestsReceived: number;
}

/** Compiles a graph and starts a conversation with it. */
export interface CreateAgentRequest {
  /** A graph document as JSON text (in JSON frames also as the value itself, under "graph"). */
  readonly graphJson?: string;
  /** A file in the server's graphs folder, without the file ending. */
  readonly graphName?: string;
  /** Model of nodes without model_name; takes precedence over the graph's own default. */
  readonly defaultModelName: string;
  /** Sends guardrail events, and fills TurnComplete.debug_info. */
  readonly enableDiagnostics: boolean;
  /** Nodes that one turn may visit; 0 = 64. */
  readonly maxStepsPerTurn: number;
  /** The result of export_dialog, or a JSON list of {"user", "assistant"} (in JSON frames also the value itself, under "history"). */
  readonly historyJson: string;
  /** Prefills system prompts and tools before the answer. */
  readonly warmUp: boolean;
  /** The tools that the graph names: a JSON list of their declarations (in JSON frames also the value itself, under "tools"). */
  readonly toolsJson: string;
}

export interface CreateAgentResponse {
  readonly agentId: number;
  readonly warnings: readonly string[];
}

/** A user message, which starts a turn. */
export interface SendMessageRequest {
  readonly agentId: number;
  readonly text: string;
  /** Template variables of this turn. */
  readonly variables: Readonly<Record<string, string>>;
  readonly priority: 'NORMAL' | 'BACKGROUND' | 'URGENT';
}

/** Cancels a turn; acknowledged even if no such turn is running. */
export interface CancelTurnRequest {
  readonly agentId: number;
  /** 0 = the current one. */
  readonly turnId: number;
}

/** What a result changes besides what it tells the model. */
export interface ToolControl {
  /** The mode of the agent from now on; the turn goes on. */
  readonly mode: 'UNCHANGED' | 'AUTO' | 'MANUAL';
  /** Ends the turn in order after the node that waits: calls without a result are waited for no longer. */
  readonly endTurn: boolean;
  /** With end_turn: the answer of the turn; empty = none. */
  readonly answer: string;
}

/** Result of one detected call, as the client obtained it. */
export interface ToolResult {
  /** The call_id of the notification. */
  readonly callId: string;
  /** Whether the call succeeded. */
  readonly ok: boolean;
  /** Text or JSON for the model; at most 256 KiB. */
  readonly content: string;
  readonly lifespan: 'TURN' | 'DIALOG';
  /** A JSON document for programs, at most 8 KiB; never in a prompt (in JSON frames also the value itself, under "metadata"). */
  readonly metadataJson: string;
  readonly control: ToolControl | null;
}

/** What a client has kept with the result of a call. */
export interface ResultMetadata {
  readonly callId: string;
  readonly toolName: string;
  readonly metadataJson: string;
}

/** Gives a turn that waits for them (await_results) the results of its calls, all at once or one after another. */
export interface SubmitToolResultsRequest {
  readonly agentId: number;
  /** 0 = the current one. */
  readonly turnId: number;
  readonly results: readonly ToolResult[];
}

/** Changes live parameters of one node between turns. */
export interface ChangeParamsRequest {
  readonly agentId: number;
  readonly nodeName: string;
  /** Only the fields to change, as a JSON object (in JSON frames also the value itself, under "params"). */
  readonly paramsJson: string;
}

export interface ExportDialogRequest {
  readonly agentId: number;
}

/** One part of an exported dialog; all parts joined in order are one JSON document. */
export interface ExportDialogResponse {
  /** From 1. */
  readonly part: number;
  readonly of: number;
  readonly historyJson: string;
}

/** Adds a turn to the dialog that took place elsewhere; only between turns. */
export interface AppendDialogRequest {
  readonly agentId: number;
  /** What the user said; may be empty. */
  readonly user: string;
  /** What was answered; may be empty, but not both. */
  readonly assistant: string;
}

/** Adds a line to the dialog, also while a turn runs: then it comes after the message and before the answer of that turn. */
export interface AppendTextRequest {
  readonly agentId: number;
  readonly text: string;
  /** Who said it: "assistant" (also when empty) or "user". */
  readonly role: string;
  /** Whether it is sent as AnswerText with source "client", too: in the running turn, else as an answer to this request. */
  readonly notify: boolean;
}

export interface SetAgentModeRequest {
  readonly agentId: number;
  readonly mode: 'AUTO' | 'MANUAL';
}

/** Sets variables of the agent, which all its later turns have. */
export interface SetVariablesRequest {
  readonly agentId: number;
  /** A JSON object; null removes a variable (in JSON frames also the value itself, under "variables"). All variables: 64 KiB. */
  readonly variablesJson: string;
}

export interface ClearDialogRequest {
  readonly agentId: number;
}

export interface DestroyAgentRequest {
  readonly agentId: number;
}

/** Text of the answer. */
export interface AnswerText {
  readonly agentId: number;
  readonly turnId: number;
  readonly nodeName: string;
  readonly text: string;
  /** true: a delta while text is generated; false: a whole text. */
  readonly isDelta: boolean;
  /** true on the one empty frame that ends the text of a turn. */
  readonly isFinal: boolean;
  /** "client": an append_text with notify, no part of the answer; empty: a node. */
  readonly source: string;
}

/** A problem of a call, as a stable code and a sentence. */
export interface ToolCallIssue {
  readonly code: string;
  readonly param: string;
  readonly message: string;
}

/** A field of an answer in fields (answer_fields of Generate), when it is complete; the speech is sent as AnswerText. */
export interface AnswerField {
  readonly agentId: number;
  readonly turnId: number;
  readonly node: string;
  readonly name: string;
  /** A JSON document: the text of a string or of a number. */
  readonly valueJson: string;
}

/** A tool call that was detected in the model's text; the server never runs it. */
export interface ToolCallNotification {
  readonly agentId: number;
  readonly turnId: number;
  readonly nodeName: string;
  /** From 0 within the turn. */
  readonly callIndex: number;
  /** Nine characters of [A-Za-z0-9]. */
  readonly callId: string;
  readonly toolName: string;
  /** A flat JSON object whose values are all strings. */
  readonly argumentsJson: string;
  /** A JSON object with the values as the model wrote them, coerced to the declared types where this loses nothing. */
  readonly typedArgumentsJson: string;
  /** Whether the node declares a tool of this name. */
  readonly known: boolean;
  /** Whether only the lenient parser could read the call. */
  readonly repaired: boolean;
  readonly consequential: boolean;
  /** Why the tool was offered: the guideline that selected it, else the last label of a Route in the turn; empty: neither. */
  readonly because: string;
  readonly issues: readonly ToolCallIssue[];
  /** Whether the turn waits for the result of this call (submit_tool_results). */
  readonly awaitsResult: boolean;
  /** The probability of name and arguments together, 0 to 1; absent: the engine does not know it. */
  readonly confidence?: number;
}

/** An event of a node, in addition to its text. */
export interface NodeEvent {
  readonly agentId: number;
  readonly turnId: number;
  readonly nodeName: string;
  readonly eventType: string;
  /** A part of a JSON object; join all parts of one event in order. */
  readonly payloadJson: string;
  /** From 1. */
  readonly part: number;
  readonly of: number;
  readonly mode: 'AUTO' | 'MANUAL';
}

/** One step of the walk. */
export interface PathStep {
  readonly nodeName: string;
  readonly exit: string;
}

/** Why a turn failed. */
export interface TurnError {
  readonly code: number;
  readonly name: string;
  readonly message: string;
}

/** Turn summary: the last frame of a turn. */
export interface TurnComplete {
  readonly agentId: number;
  readonly turnId: number;
  readonly status: 'SUCCESS' | 'ERROR' | 'CANCELLED';
  /** Present when status is ERROR, and when it is CANCELLED because the server shut down. */
  readonly error: TurnError | null;
  readonly path: readonly PathStep[];
  readonly stopReason: 'NONE' | 'END' | 'LENGTH' | 'STOP' | 'ABORTED';
  /** Tokens of all prompts of the turn, including reused ones. */
  readonly tokensPrompt: number;
  /** Prompt tokens reused from a KV cache (prefix reuse). */
  readonly tokensReused: number;
  readonly tokensGenerated: number;
  /** Interactions that did not fit into a prompt of this turn; the maximum over its nodes. */
  readonly interactionsDropped: number;
  /** Milliseconds from the request to the first generated token; 0 when none was generated. */
  readonly timeToFirstTokenMs: number;
  readonly durationMs: number;
  readonly warnings: readonly string[];
  /** With diagnostics a JSON document, else empty. */
  readonly debugInfo: string;
  /** The mode of the agent at the end of the turn. */
  readonly mode: 'AUTO' | 'MANUAL';
  /** Of the results that the turn has taken. */
  readonly resultMetadata: readonly ResultMetadata[];
  /** Interactions that a running summary in a prompt of this turn stands for; the maximum over its nodes. */
  readonly interactionsSummarised: number;
  /** The models that nodes with a list of names use. */
  readonly modelChoices: readonly ModelChoice[];
}

/** The model of a list that is used. */
export interface ModelChoice {
  readonly name: string;
  /** Why it was taken, and why those before it were not. */
  readonly reason: string;
}

/** Sampling parameters, without stop, dry, xtc and logit_bias: those are in the catalogue only. */
export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly topK: number;
  readonly minP: number;
  readonly repeatPenalty: number;
  readonly presencePenalty: number;
  readonly frequencyPenalty: number;
  readonly maxTokens: number;
  /** 0 = random. */
  readonly seed: number;
  /** 0 = no limit. */
  readonly maxTokensPerSecond: number;
  /** off, prompt. */
  readonly speculate: string;
}

export interface ModelInfo {
  readonly name: string;
  readonly status: 'ABSENT' | 'DOWNLOADING' | 'DOWNLOADED' | 'LOCAL' | 'LOADED';
  /** Loaded by load_model, until unloaded. */
  readonly pinned: boolean;
  /** Number of agents that use it. */
  readonly agents: number;
  /** Bytes on disk, or expected; 0 = unknown. */
  readonly sizeBytes: number;
  /** Tokens. */
  readonly contextSize: number;
  readonly toolCallFormat: string;
  /** Whether the format was detected in the loaded model, not taken from the catalogue. */
  readonly toolCallFormatDetected: boolean;
  readonly huggingfaceRepo: string;
  readonly files: readonly string[];
  readonly license: string;
  readonly defaultSampling: Sampling | null;
  readonly description: string;
  /** Backend while it is loaded: cpu, cuda, vulkan, metal; empty = not loaded. */
  readonly backend: string;
  /** Layers on the GPU. */
  readonly gpuLayers: number;
  /** Threads for decoding at present. */
  readonly threads: number;
  /** Slots (KV caches): sequences in memory at a time; 0 = not loaded. */
  readonly slots: number;
  /** Bytes of memory of its weights while it is loaded, on graphics cards and not. */
  readonly weightsBytes: number;
  /** Bytes of memory of its context: the KV caches of all slots, and compute buffers. */
  readonly contextBytes: number;
  /** Bytes that each slot has of these. */
  readonly slotBytes: number;
  /** What of weights_bytes and context_bytes is on graphics cards. */
  readonly vramBytes: number;
  /** Threads for prefill at present, of prompts that are not very short. */
  readonly prefillThreads: number;
  /** What it is for: chat, or embedding (vectors of texts, for searches). */
  readonly purpose: string;
  /** Measured decode speed on this machine, the best of the last five turns that ran alone; 0 = not measured. */
  readonly tokensPerSecond: number;
  /** Whether it was taken from the last list of names with it, and why; empty = no list was used. */
  readonly choice: string;
}

export interface ListModelsRequest {
  /** Empty for the first page, then next_page_token of the previous page. */
  readonly pageToken: string;
}

export interface ListModelsResponse {
  readonly models: readonly ModelInfo[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Asks which models of the catalogue fit the machine of the server. */
export interface SuggestModelsRequest {
  /** "chat" (also when empty) or "embedding". */
  readonly purpose: string;
  /** Models that are expected to be slower are left out; 0 = none is. */
  readonly minTokensPerSecond: number;
  /** Models with larger files are left out; 0 = none is. */
  readonly maxBytes: number;
  /** Codes of ISO 639, such as "en" or "de", of which a model must know all. */
  readonly languages: readonly string[];
}

/** The machine that models run on. */
export interface MachineInfo {
  readonly memoryBytes: number;
  /** What models may take of it now. */
  readonly freeMemoryBytes: number;
  /** Names of the graphics cards. */
  readonly cards: readonly string[];
  /** Of all cards together. */
  readonly cardMemoryBytes: number;
  readonly freeCardMemoryBytes: number;
  /** Cores that the server may use. */
  readonly cores: number;
  /** Memory bandwidth, measured; 0 = unknown. */
  readonly bandwidthBytesPerSecond: number;
  /** That it is unknown whether there is a card; else empty. */
  readonly problem: string;
  /** Of the disk that models are downloaded to; 0 = unknown. */
  readonly freeDiskBytes: number;
}

/** A model that fits. */
export interface SuggestedModel {
  readonly name: string;
  /** The file of the variant that runs; of a split model the first part. */
  readonly variant: string;
  readonly status: 'ABSENT' | 'DOWNLOADING' | 'DOWNLOADED' | 'LOCAL' | 'LOADED';
  /** What is missing on disk; 0 = nothing. */
  readonly downloadBytes: number;
  /** Its weights, and the KV caches of its slots. */
  readonly memoryBytes: number;
  /** Expected when it decodes; 0 = unknown, as on a graphics card. */
  readonly tokensPerSecond: number;
  /** A sentence for people. */
  readonly why: string;
}

export interface LeftOutModel {
  readonly name: string;
  readonly why: string;
}

export interface SuggestModelsResponse {
  readonly machine: MachineInfo | null;
  /** Best first. */
  readonly models: readonly SuggestedModel[];
  /** The other models of this purpose. */
  readonly leftOut: readonly LeftOutModel[];
  /** Number of models for which a frame has no room. */
  readonly more: number;
}

export interface DownloadModelRequest {
  readonly modelName: string;
}

export interface DownloadModelResponse {
  readonly sizeBytes: number;
}

export interface CancelDownloadRequest {
  readonly modelName: string;
}

/** Loads a model and pins it until it is unloaded. */
export interface LoadModelRequest {
  readonly modelName: string;
}

export interface LoadModelResponse {
}

/** Unpins a model; it is unloaded when no agent uses it. */
export interface UnloadModelRequest {
  readonly modelName: string;
}

export interface DeleteModelRequest {
  readonly modelName: string;
}

/** Progress of a download or a load; sent with the id of the request that waits for it. */
export interface ModelProgress {
  readonly modelName: string;
  readonly phase: 'DOWNLOADING' | 'LOADING';
  /** 0 to 1. */
  readonly fraction: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

/** Creates a named list or map of strings for the graphs of this session. */
export interface CreateStringStorageRequest {
  readonly name: string;
  readonly kind: 'LIST' | 'MAP' | 'MULTIMAP' | 'KNOWLEDGE';
  /** The entries, if file_path is empty. */
  readonly strings: readonly string[];
  /** For MAP and MULTIMAP: the key of each entry; for KNOWLEDGE: its id. */
  readonly keys: readonly string[];
  /** Relative to the session's storage folder. */
  readonly filePath: string;
  /** For KNOWLEDGE: one JSON object {"metadata"?, "keys"?, "always"?} per entry, "" = nothing; empty = nothing for all. */
  readonly metadataJson: readonly string[];
  /** For KNOWLEDGE without file_path: keeps the storage in the memory folder of the server, for later sessions with the same
   * memory_key. One that is there already is opened, and the entries of the request are not used. */
  readonly persist: boolean;
  /** For KNOWLEDGE, in place of strings, keys and metadata_json: the entries, as export_storage gives them. */
  readonly entries: readonly StorageEntry[];
}

/** An entry of a KNOWLEDGE storage. */
export interface StorageEntry {
  /** Unique in the storage; empty: the server gives one. */
  readonly id: string;
  readonly text: string;
  /** A JSON object of strings, numbers, booleans and lists of strings, "" = none (in JSON frames also the value itself, under
   * "metadata"). */
  readonly metadataJson: string;
  /** Words, texts with symbols, or /patterns/flags, whose appearance in a query brings the entry, whatever its score. */
  readonly keys: readonly string[];
  /** Whether every search brings it. */
  readonly always: boolean;
}

/** Adds entries to a KNOWLEDGE storage of the session, after the others. One whose id another one has takes its place. */
export interface AddKnowledgeRequest {
  readonly storage: string;
  readonly entries: readonly StorageEntry[];
}

export interface AddKnowledgeResponse {
  /** Of the entries, in order. */
  readonly ids: readonly string[];
  /** What of them is not used, and why. */
  readonly warnings: readonly string[];
}

/** Removes entries of a KNOWLEDGE storage of the session. */
export interface RemoveKnowledgeRequest {
  readonly storage: string;
  readonly ids: readonly string[];
}

export interface ExportStorageRequest {
  /** A KNOWLEDGE storage of the session, else a file of its storage folder. */
  readonly storage: string;
}

/** Some entries of a storage; the parts have all of them, in order. */
export interface ExportStorageResponse {
  /** From 1. */
  readonly part: number;
  /** The number of parts: the last one is that whose number this is. */
  readonly of: number;
  readonly entries: readonly StorageEntry[];
}

export interface CreateStringStorageResponse {
  readonly entries: number;
}

export interface DestroyStringStorageRequest {
  readonly name: string;
}

/** Searches the entries of a storage of any kind, as a Retrieve node does. */
export interface SearchStorageRequest {
  /** A storage of the session by its name, else a file of its storage folder. */
  readonly name: string;
  readonly query: string;
  /** "words" (also when empty), "vectors" or "both". */
  readonly match: string;
  /** Max hits, at most 1,000; 0 = 3. */
  readonly topK: number;
  /** Conditions on the metadata as JSON text; "" = none (in JSON frames also the value itself, under "filter"). */
  readonly filterJson: string;
}

/** One part of what a search has found; all parts joined in order are one JSON document. */
export interface SearchStorageResponse {
  /** From 1. */
  readonly part: number;
  readonly of: number;
  /** A list of {"id", "text", "score", "metadata"}, best first; then the entries that every search brings. */
  readonly hitsJson: string;
  /** Whether there are hits in addition to those that every search brings; the same in all parts. */
  readonly found: boolean;
}

export interface Ack {
}

/** A request that failed. */
export interface ErrorResponse {
  readonly code: number;
  readonly name: string;
  /** One sentence with the place and a fix. */
  readonly message: string;
  /** For a graph a JSON list of faults, else empty. */
  readonly detail: string;
}

/** The bodies of a ClientFrame, by the name of their field. */
export interface ClientFrameBodies {
  readonly configureSession: ConfigureSessionRequest;
  readonly resumeSession: ResumeSessionRequest;
  readonly createAgent: CreateAgentRequest;
  readonly sendMessage: SendMessageRequest;
  readonly cancelTurn: CancelTurnRequest;
  readonly submitToolResults: SubmitToolResultsRequest;
  readonly changeParams: ChangeParamsRequest;
  readonly exportDialog: ExportDialogRequest;
  readonly clearDialog: ClearDialogRequest;
  readonly destroyAgent: DestroyAgentRequest;
  readonly listModels: ListModelsRequest;
  readonly downloadModel: DownloadModelRequest;
  readonly cancelDownload: CancelDownloadRequest;
  readonly loadModel: LoadModelRequest;
  readonly unloadModel: UnloadModelRequest;
  readonly deleteModel: DeleteModelRequest;
  readonly createStringStorage: CreateStringStorageRequest;
  readonly destroyStringStorage: DestroyStringStorageRequest;
  readonly appendDialog: AppendDialogRequest;
  readonly setPace: SetPaceRequest;
  readonly searchStorage: SearchStorageRequest;
  readonly appendText: AppendTextRequest;
  readonly setAgentMode: SetAgentModeRequest;
  readonly setVariables: SetVariablesRequest;
  readonly addKnowledge: AddKnowledgeRequest;
  readonly removeKnowledge: RemoveKnowledgeRequest;
  readonly exportStorage: ExportStorageRequest;
  readonly suggestModels: SuggestModelsRequest;
  readonly reportFrame: ReportFrameRequest;
}

/** A request of a client: one WebSocket message. */
export type ClientFrame = {
  readonly [K in keyof ClientFrameBodies]: { readonly requestId: number; readonly body: K } & {
    readonly [P in K]: ClientFrameBodies[P];
  };
}[keyof ClientFrameBodies];

/** The bodies of a ServerFrame, by the name of their field. */
export interface ServerFrameBodies {
  readonly sessionReady: SessionReady;
  readonly configureSession: ConfigureSessionResponse;
  readonly resumeSession: ResumeSessionResponse;
  readonly createAgent: CreateAgentResponse;
  readonly answerText: AnswerText;
  readonly toolCallNotification: ToolCallNotification;
  readonly nodeEvent: NodeEvent;
  readonly turnComplete: TurnComplete;
  readonly exportDialog: ExportDialogResponse;
  readonly listModels: ListModelsResponse;
  readonly modelProgress: ModelProgress;
  readonly downloadModel: DownloadModelResponse;
  readonly loadModel: LoadModelResponse;
  readonly createStringStorage: CreateStringStorageResponse;
  readonly ack: Ack;
  readonly error: ErrorResponse;
  readonly searchStorage: SearchStorageResponse;
  readonly exportStorage: ExportStorageResponse;
  readonly answerField: AnswerField;
  readonly addKnowledge: AddKnowledgeResponse;
  readonly suggestModels: SuggestModelsResponse;
}

/** An answer or event of the server: one WebSocket message. */
export type ServerFrame = {
  readonly [K in keyof ServerFrameBodies]: { readonly requestId: number; readonly seq: number; readonly body: K } & {
    readonly [P in K]: ServerFrameBodies[P];
  };
}[keyof ServerFrameBodies];

/** The bodies that answer each request: the final response, which can also be an error, and those that come before it. */
export const responses = {
  configureSession: { final: 'configureSession', earlier: [] },
  resumeSession: { final: 'resumeSession', earlier: [] },
  createAgent: { final: 'createAgent', earlier: ['modelProgress'] },
  sendMessage: { final: 'turnComplete', earlier: ['answerField', 'answerText', 'toolCallNotification', 'nodeEvent'] },
  cancelTurn: { final: 'ack', earlier: [] },
  submitToolResults: { final: 'ack', earlier: [] },
  changeParams: { final: 'ack', earlier: [] },
  exportDialog: { final: 'exportDialog', earlier: [] },
  clearDialog: { final: 'ack', earlier: [] },
  destroyAgent: { final: 'ack', earlier: [] },
  listModels: { final: 'listModels', earlier: [] },
  downloadModel: { final: 'downloadModel', earlier: ['modelProgress'] },
  cancelDownload: { final: 'ack', earlier: [] },
  loadModel: { final: 'loadModel', earlier: ['modelProgress'] },
  unloadModel: { final: 'ack', earlier: [] },
  deleteModel: { final: 'ack', earlier: [] },
  createStringStorage: { final: 'createStringStorage', earlier: [] },
  destroyStringStorage: { final: 'ack', earlier: [] },
  appendDialog: { final: 'ack', earlier: [] },
  setPace: { final: 'ack', earlier: [] },
  searchStorage: { final: 'searchStorage', earlier: [] },
  appendText: { final: 'ack', earlier: ['answerText'] },
  setAgentMode: { final: 'ack', earlier: [] },
  setVariables: { final: 'ack', earlier: [] },
  addKnowledge: { final: 'addKnowledge', earlier: [] },
  removeKnowledge: { final: 'ack', earlier: [] },
  exportStorage: { final: 'exportStorage', earlier: [] },
  suggestModels: { final: 'suggestModels', earlier: [] },
  reportFrame: { final: 'ack', earlier: [] },
} as const satisfies {
  readonly [Body in keyof ClientFrameBodies]: {
    readonly final: keyof ServerFrameBodies;
    readonly earlier: readonly (keyof ServerFrameBodies)[];
  };
};

/** What a field of a message holds. */
export type FieldShape = {
  readonly repeated?: boolean;
  /** The oneof that the field is a member of. */
  readonly oneof?: string;
} & (
  | { readonly scalar: 'string' | 'bool' | 'uint32' | 'double' }
  | { readonly enum: readonly string[] }
  | { readonly message: keyof typeof shapes }
  | { readonly map: 'string' }
);

/** The fields of every message, in the proto's order. */
export const shapes = {
  ClientFrame: {
    requestId: {"scalar":"uint32"},
    configureSession: {"message":"ConfigureSessionRequest","oneof":"body"},
    resumeSession: {"message":"ResumeSessionRequest","oneof":"body"},
    createAgent: {"message":"CreateAgentRequest","oneof":"body"},
    sendMessage: {"message":"SendMessageRequest","oneof":"body"},
    cancelTurn: {"message":"CancelTurnRequest","oneof":"body"},
    submitToolResults: {"message":"SubmitToolResultsRequest","oneof":"body"},
    changeParams: {"message":"ChangeParamsRequest","oneof":"body"},
    exportDialog: {"message":"ExportDialogRequest","oneof":"body"},
    clearDialog: {"message":"ClearDialogRequest","oneof":"body"},
    destroyAgent: {"message":"DestroyAgentRequest","oneof":"body"},
    listModels: {"message":"ListModelsRequest","oneof":"body"},
    downloadModel: {"message":"DownloadModelRequest","oneof":"body"},
    cancelDownload: {"message":"CancelDownloadRequest","oneof":"body"},
    loadModel: {"message":"LoadModelRequest","oneof":"body"},
    unloadModel: {"message":"UnloadModelRequest","oneof":"body"},
    deleteModel: {"message":"DeleteModelRequest","oneof":"body"},
    createStringStorage: {"message":"CreateStringStorageRequest","oneof":"body"},
    destroyStringStorage: {"message":"DestroyStringStorageRequest","oneof":"body"},
    appendDialog: {"message":"AppendDialogRequest","oneof":"body"},
    setPace: {"message":"SetPaceRequest","oneof":"body"},
    searchStorage: {"message":"SearchStorageRequest","oneof":"body"},
    appendText: {"message":"AppendTextRequest","oneof":"body"},
    setAgentMode: {"message":"SetAgentModeRequest","oneof":"body"},
    setVariables: {"message":"SetVariablesRequest","oneof":"body"},
    addKnowledge: {"message":"AddKnowledgeRequest","oneof":"body"},
    removeKnowledge: {"message":"RemoveKnowledgeRequest","oneof":"body"},
    exportStorage: {"message":"ExportStorageRequest","oneof":"body"},
    suggestModels: {"message":"SuggestModelsRequest","oneof":"body"},
    reportFrame: {"message":"ReportFrameRequest","oneof":"body"},
  },
  ServerFrame: {
    requestId: {"scalar":"uint32"},
    seq: {"scalar":"uint32"},
    sessionReady: {"message":"SessionReady","oneof":"body"},
    configureSession: {"message":"ConfigureSessionResponse","oneof":"body"},
    resumeSession: {"message":"ResumeSessionResponse","oneof":"body"},
    createAgent: {"message":"CreateAgentResponse","oneof":"body"},
    answerText: {"message":"AnswerText","oneof":"body"},
    toolCallNotification: {"message":"ToolCallNotification","oneof":"body"},
    nodeEvent: {"message":"NodeEvent","oneof":"body"},
    turnComplete: {"message":"TurnComplete","oneof":"body"},
    exportDialog: {"message":"ExportDialogResponse","oneof":"body"},
    listModels: {"message":"ListModelsResponse","oneof":"body"},
    modelProgress: {"message":"ModelProgress","oneof":"body"},
    downloadModel: {"message":"DownloadModelResponse","oneof":"body"},
    loadModel: {"message":"LoadModelResponse","oneof":"body"},
    createStringStorage: {"message":"CreateStringStorageResponse","oneof":"body"},
    ack: {"message":"Ack","oneof":"body"},
    error: {"message":"ErrorResponse","oneof":"body"},
    searchStorage: {"message":"SearchStorageResponse","oneof":"body"},
    exportStorage: {"message":"ExportStorageResponse","oneof":"body"},
    answerField: {"message":"AnswerField","oneof":"body"},
    addKnowledge: {"message":"AddKnowledgeResponse","oneof":"body"},
    suggestModels: {"message":"SuggestModelsResponse","oneof":"body"},
  },
  SessionReady: {
    protocolVersion: {"scalar":"uint32"},
    sessionId: {"scalar":"string"},
    resumeToken: {"scalar":"string"},
    serverVersion: {"scalar":"string"},
  },
  ConfigureSessionRequest: {
    engine: {"scalar":"string"},
    storageDataFolder: {"scalar":"string"},
    allowAutoModelDownloading: {"scalar":"bool"},
    memoryKey: {"scalar":"string"},
  },
  ConfigureSessionResponse: {
  },
  SetPaceRequest: {
    paused: {"scalar":"bool"},
    maxTokensPerSecond: {"scalar":"uint32"},
    maxThreads: {"scalar":"uint32"},
  },
  ReportFrameRequest: {
    ms: {"scalar":"double"},
    targetMs: {"scalar":"double"},
  },
  ResumeSessionRequest: {
    sessionId: {"scalar":"string"},
    resumeToken: {"scalar":"string"},
    lastSeq: {"scalar":"uint32"},
  },
  ResumeSessionResponse: {
    replayed: {"scalar":"uint32"},
    requestsReceived: {"scalar":"uint32"},
  },
  CreateAgentRequest: {
    graphJson: {"scalar":"string","oneof":"source"},
    graphName: {"scalar":"string","oneof":"source"},
    defaultModelName: {"scalar":"string"},
    enableDiagnostics: {"scalar":"bool"},
    maxStepsPerTurn: {"scalar":"uint32"},
    historyJson: {"scalar":"string"},
    warmUp: {"scalar":"bool"},
    toolsJson: {"scalar":"string"},
  },
  CreateAgentResponse: {
    agentId: {"scalar":"uint32"},
    warnings: {"scalar":"string","repeated":true},
  },
  SendMessageRequest: {
    agentId: {"scalar":"uint32"},
    text: {"scalar":"string"},
    variables: {"map":"string"},
    priority: {"enum":["NORMAL","BACKGROUND","URGENT"]},
  },
  CancelTurnRequest: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
  },
  ToolControl: {
    mode: {"enum":["UNCHANGED","AUTO","MANUAL"]},
    endTurn: {"scalar":"bool"},
    answer: {"scalar":"string"},
  },
  ToolResult: {
    callId: {"scalar":"string"},
    ok: {"scalar":"bool"},
    content: {"scalar":"string"},
    lifespan: {"enum":["TURN","DIALOG"]},
    metadataJson: {"scalar":"string"},
    control: {"message":"ToolControl"},
  },
  ResultMetadata: {
    callId: {"scalar":"string"},
    toolName: {"scalar":"string"},
    metadataJson: {"scalar":"string"},
  },
  SubmitToolResultsRequest: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    results: {"message":"ToolResult","repeated":true},
  },
  ChangeParamsRequest: {
    agentId: {"scalar":"uint32"},
    nodeName: {"scalar":"string"},
    paramsJson: {"scalar":"string"},
  },
  ExportDialogRequest: {
    agentId: {"scalar":"uint32"},
  },
  ExportDialogResponse: {
    part: {"scalar":"uint32"},
    of: {"scalar":"uint32"},
    historyJson: {"scalar":"string"},
  },
  AppendDialogRequest: {
    agentId: {"scalar":"uint32"},
    user: {"scalar":"string"},
    assistant: {"scalar":"string"},
  },
  AppendTextRequest: {
    agentId: {"scalar":"uint32"},
    text: {"scalar":"string"},
    role: {"scalar":"string"},
    notify: {"scalar":"bool"},
  },
  SetAgentModeRequest: {
    agentId: {"scalar":"uint32"},
    mode: {"enum":["AUTO","MANUAL"]},
  },
  SetVariablesRequest: {
    agentId: {"scalar":"uint32"},
    variablesJson: {"scalar":"string"},
  },
  ClearDialogRequest: {
    agentId: {"scalar":"uint32"},
  },
  DestroyAgentRequest: {
    agentId: {"scalar":"uint32"},
  },
  AnswerText: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    nodeName: {"scalar":"string"},
    text: {"scalar":"string"},
    isDelta: {"scalar":"bool"},
    isFinal: {"scalar":"bool"},
    source: {"scalar":"string"},
  },
  ToolCallIssue: {
    code: {"scalar":"string"},
    param: {"scalar":"string"},
    message: {"scalar":"string"},
  },
  AnswerField: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    node: {"scalar":"string"},
    name: {"scalar":"string"},
    valueJson: {"scalar":"string"},
  },
  ToolCallNotification: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    nodeName: {"scalar":"string"},
    callIndex: {"scalar":"uint32"},
    callId: {"scalar":"string"},
    toolName: {"scalar":"string"},
    argumentsJson: {"scalar":"string"},
    typedArgumentsJson: {"scalar":"string"},
    known: {"scalar":"bool"},
    repaired: {"scalar":"bool"},
    consequential: {"scalar":"bool"},
    because: {"scalar":"string"},
    issues: {"message":"ToolCallIssue","repeated":true},
    awaitsResult: {"scalar":"bool"},
    confidence: {"scalar":"double","oneof":"_confidence"},
  },
  NodeEvent: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    nodeName: {"scalar":"string"},
    eventType: {"scalar":"string"},
    payloadJson: {"scalar":"string"},
    part: {"scalar":"uint32"},
    of: {"scalar":"uint32"},
    mode: {"enum":["AUTO","MANUAL"]},
  },
  PathStep: {
    nodeName: {"scalar":"string"},
    exit: {"scalar":"string"},
  },
  TurnError: {
    code: {"scalar":"uint32"},
    name: {"scalar":"string"},
    message: {"scalar":"string"},
  },
  TurnComplete: {
    agentId: {"scalar":"uint32"},
    turnId: {"scalar":"uint32"},
    status: {"enum":["SUCCESS","ERROR","CANCELLED"]},
    error: {"message":"TurnError"},
    path: {"message":"PathStep","repeated":true},
    stopReason: {"enum":["NONE","END","LENGTH","STOP","ABORTED"]},
    tokensPrompt: {"scalar":"uint32"},
    tokensReused: {"scalar":"uint32"},
    tokensGenerated: {"scalar":"uint32"},
    interactionsDropped: {"scalar":"uint32"},
    timeToFirstTokenMs: {"scalar":"double"},
    durationMs: {"scalar":"double"},
    warnings: {"scalar":"string","repeated":true},
    debugInfo: {"scalar":"string"},
    mode: {"enum":["AUTO","MANUAL"]},
    resultMetadata: {"message":"ResultMetadata","repeated":true},
    interactionsSummarised: {"scalar":"uint32"},
    modelChoices: {"message":"ModelChoice","repeated":true},
  },
  ModelChoice: {
    name: {"scalar":"string"},
    reason: {"scalar":"string"},
  },
  Sampling: {
    temperature: {"scalar":"double"},
    topP: {"scalar":"double"},
    topK: {"scalar":"uint32"},
    minP: {"scalar":"double"},
    repeatPenalty: {"scalar":"double"},
    presencePenalty: {"scalar":"double"},
    frequencyPenalty: {"scalar":"double"},
    maxTokens: {"scalar":"uint32"},
    seed: {"scalar":"uint32"},
    maxTokensPerSecond: {"scalar":"uint32"},
    speculate: {"scalar":"string"},
  },
  ModelInfo: {
    name: {"scalar":"string"},
    status: {"enum":["ABSENT","DOWNLOADING","DOWNLOADED","LOCAL","LOADED"]},
    pinned: {"scalar":"bool"},
    agents: {"scalar":"uint32"},
    sizeBytes: {"scalar":"double"},
    contextSize: {"scalar":"uint32"},
    toolCallFormat: {"scalar":"string"},
    toolCallFormatDetected: {"scalar":"bool"},
    huggingfaceRepo: {"scalar":"string"},
    files: {"scalar":"string","repeated":true},
    license: {"scalar":"string"},
    defaultSampling: {"message":"Sampling"},
    description: {"scalar":"string"},
    backend: {"scalar":"string"},
    gpuLayers: {"scalar":"uint32"},
    threads: {"scalar":"uint32"},
    slots: {"scalar":"uint32"},
    weightsBytes: {"scalar":"double"},
    contextBytes: {"scalar":"double"},
    slotBytes: {"scalar":"double"},
    vramBytes: {"scalar":"double"},
    prefillThreads: {"scalar":"uint32"},
    purpose: {"scalar":"string"},
    tokensPerSecond: {"scalar":"double"},
    choice: {"scalar":"string"},
  },
  ListModelsRequest: {
    pageToken: {"scalar":"string"},
  },
  ListModelsResponse: {
    models: {"message":"ModelInfo","repeated":true},
    nextPageToken: {"scalar":"string"},
  },
  SuggestModelsRequest: {
    purpose: {"scalar":"string"},
    minTokensPerSecond: {"scalar":"double"},
    maxBytes: {"scalar":"double"},
    languages: {"scalar":"string","repeated":true},
  },
  MachineInfo: {
    memoryBytes: {"scalar":"double"},
    freeMemoryBytes: {"scalar":"double"},
    cards: {"scalar":"string","repeated":true},
    cardMemoryBytes: {"scalar":"double"},
    freeCardMemoryBytes: {"scalar":"double"},
    cores: {"scalar":"uint32"},
    bandwidthBytesPerSecond: {"scalar":"double"},
    problem: {"scalar":"string"},
    freeDiskBytes: {"scalar":"double"},
  },
  SuggestedModel: {
    name: {"scalar":"string"},
    variant: {"scalar":"string"},
    status: {"enum":["ABSENT","DOWNLOADING","DOWNLOADED","LOCAL","LOADED"]},
    downloadBytes: {"scalar":"double"},
    memoryBytes: {"scalar":"double"},
    tokensPerSecond: {"scalar":"double"},
    why: {"scalar":"string"},
  },
  LeftOutModel: {
    name: {"scalar":"string"},
    why: {"scalar":"string"},
  },
  SuggestModelsResponse: {
    machine: {"message":"MachineInfo"},
    models: {"message":"SuggestedModel","repeated":true},
    leftOut: {"message":"LeftOutModel","repeated":true},
    more: {"scalar":"uint32"},
  },
  DownloadModelRequest: {
    modelName: {"scalar":"string"},
  },
  DownloadModelResponse: {
    sizeBytes: {"scalar":"double"},
  },
  CancelDownloadRequest: {
    modelName: {"scalar":"string"},
  },
  LoadModelRequest: {
    modelName: {"scalar":"string"},
  },
  LoadModelResponse: {
  },
  UnloadModelRequest: {
    modelName: {"scalar":"string"},
  },
  DeleteModelRequest: {
    modelName: {"scalar":"string"},
  },
  ModelProgress: {
    modelName: {"scalar":"string"},
    phase: {"enum":["DOWNLOADING","LOADING"]},
    fraction: {"scalar":"double"},
    bytesDone: {"scalar":"double"},
    bytesTotal: {"scalar":"double"},
  },
  CreateStringStorageRequest: {
    name: {"scalar":"string"},
    kind: {"enum":["LIST","MAP","MULTIMAP","KNOWLEDGE"]},
    strings: {"scalar":"string","repeated":true},
    keys: {"scalar":"string","repeated":true},
    filePath: {"scalar":"string"},
    metadataJson: {"scalar":"string","repeated":true},
    persist: {"scalar":"bool"},
    entries: {"message":"StorageEntry","repeated":true},
  },
  StorageEntry: {
    id: {"scalar":"string"},
    text: {"scalar":"string"},
    metadataJson: {"scalar":"string"},
    keys: {"scalar":"string","repeated":true},
    always: {"scalar":"bool"},
  },
  AddKnowledgeRequest: {
    storage: {"scalar":"string"},
    entries: {"message":"StorageEntry","repeated":true},
  },
  AddKnowledgeResponse: {
    ids: {"scalar":"string","repeated":true},
    warnings: {"scalar":"string","repeated":true},
  },
  RemoveKnowledgeRequest: {
    storage: {"scalar":"string"},
    ids: {"scalar":"string","repeated":true},
  },
  ExportStorageRequest: {
    storage: {"scalar":"string"},
  },
  ExportStorageResponse: {
    part: {"scalar":"uint32"},
    of: {"scalar":"uint32"},
    entries: {"message":"StorageEntry","repeated":true},
  },
  CreateStringStorageResponse: {
    entries: {"scalar":"uint32"},
  },
  DestroyStringStorageRequest: {
    name: {"scalar":"string"},
  },
  SearchStorageRequest: {
    name: {"scalar":"string"},
    query: {"scalar":"string"},
    match: {"scalar":"string"},
    topK: {"scalar":"uint32"},
    filterJson: {"scalar":"string"},
  },
  SearchStorageResponse: {
    part: {"scalar":"uint32"},
    of: {"scalar":"uint32"},
    hitsJson: {"scalar":"string"},
    found: {"scalar":"bool"},
  },
  Ack: {
  },
  ErrorResponse: {
    code: {"scalar":"uint32"},
    name: {"scalar":"string"},
    message: {"scalar":"string"},
    detail: {"scalar":"string"},
  },
} as const;

/** The number of every error of the protocol, by its name. */
export const codes = {
  CONNECTION_FAILED: 1001,
  CONNECTION_DROPPED: 1002,
  TIMEOUT: 1003,
  SERVER_SHUTTING_DOWN: 2001,
  SESSION_NOT_RESUMABLE: 2003,
  UNAUTHORIZED: 2004,
  LIMIT_EXCEEDED: 2005,
  INVALID_AGENT_ID: 3001,
  AGENT_ALREADY_DESTROYED: 3002,
  GRAPH_COMPILATION_FAILED: 3003,
  AGENT_BUSY: 3004,
  UNKNOWN_NODE: 3005,
  PARAM_NOT_MUTABLE: 3006,
  INVALID_PARAM_VALUE: 3007,
  INVALID_EXIT_TARGET: 3008,
  STORAGE_OUTSIDE_ROOT: 3009,
  STORAGE_FILE_NOT_FOUND: 3010,
  STORAGE_KIND_MISMATCH: 3011,
  NO_RESULTS_AWAITED: 3012,
  INFERENCE_FAILED: 4001,
  INFERENCE_TIMEOUT: 4002,
  MAX_STEPS_EXCEEDED: 4003,
  PROMPT_TOO_LARGE: 4004,
  ENGINE_CRASHED: 4005,
  MALFORMED_MESSAGE: 5001,
  UNKNOWN_MESSAGE_TYPE: 5002,
  FRAME_TOO_LARGE: 5003,
  PROTOCOL_VERSION_MISMATCH: 5004,
  INTERNAL: 5005,
  DOWNLOAD_FAILED: 6001,
  DOWNLOAD_NOT_AVAILABLE: 6002,
  INSUFFICIENT_DISK_SPACE: 6003,
  DOWNLOAD_ALREADY_ACTIVE: 6004,
  CHECKSUM_MISMATCH: 6005,
  MODEL_AUTO_DOWNLOAD_FAILED: 6006,
  UNKNOWN_MODEL: 6007,
  MODEL_NOT_ON_DISK: 6008,
  MODEL_LOAD_FAILED: 6009,
  MODEL_IN_USE: 6010,
  DOWNLOAD_CANCELLED: 6011,
  INVALID_STRING_STORAGE_NAME: 7001,
  STRING_STORAGE_ALREADY_EXISTS: 7002,
  INVALID_STRING_STORAGE_DATA: 7003,
  STORAGE_NAME_IN_USE: 7004,
} as const;

/** The name of an error of the protocol. */
export type CodeName = keyof typeof codes;
