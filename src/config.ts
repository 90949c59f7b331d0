import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import envPaths from 'env-paths';
import { createReader, type FromSchema, type ObjectSchema, type ReadResult, type Schema } from './schema.ts';

// What a timer can hold in milliseconds.
const maxSeconds = 2_147_483;

/** Options of the server: the one truth for the flags of `serve`, their environment variables, defaults and help. */
export const serverSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    port: { type: 'integer', minimum: 0, maximum: 65535, default: 9100, description: 'TCP port; 0 = any free one' },
    host: {
      type: 'string',
      default: '127.0.0.1',
      description: 'address to listen on; beyond loopback a token is demanded',
    },
    token: { type: 'string', default: '', description: 'secret that clients must show' },
    allowHost: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'further names that the Host header may give',
    },
    allowOrigin: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'further origins that web pages may come from',
    },
    graphs: {
      type: 'string',
      default: '',
      description:
        "folder of the graphs that clients may name; default ./graphs, or the package's own where there is none",
    },
    catalogue: {
      type: 'string',
      default: '',
      description: "the model catalogue; default ./models.json, or the package's own where there is none",
    },
    models: {
      type: 'string',
      default: '',
      description: "folder of downloaded models; default: in the user's data folder",
    },
    extend: {
      type: 'array',
      items: { type: 'string' },
      default: [],
      description: 'modules that export node types and formats of your own',
    },
    storageRoot: {
      type: 'string',
      default: '',
      description: 'folder of string storages; default: the graphs folder, for a graph file its own',
    },
    preload: { type: 'array', items: { type: 'string' }, default: [], description: 'models to load and keep at start' },
    slots: {
      type: 'integer',
      minimum: 0,
      maximum: 256,
      default: 0,
      description: 'sequences that each model holds in memory; 0 = by the memory that is free, at least 4',
    },
    cache: {
      type: 'string',
      default: '',
      description:
        "folder of what can be made again: sequences' states, measurements; default: the user's cache folder",
    },
    cacheLimit: {
      type: 'integer',
      minimum: 0,
      default: 2048,
      description: 'megabytes of states in the cache folder; 0 = none are kept',
    },
    threads: {
      type: 'integer',
      minimum: 0,
      maximum: 1024,
      default: 0,
      description: 'threads of inference; 0 = measured for each model, and fewer while other programs need the cores',
    },
    gpu: { type: 'string', enum: ['auto', 'off'], default: 'auto', description: 'whether to use a graphics card' },
    modelIdle: {
      type: 'number',
      minimum: 0,
      maximum: maxSeconds,
      default: 300,
      description: 'seconds that an unused model stays in memory',
    },
    mockScript: { type: 'string', default: '', description: 'answers of the mock engine' },
    turnTimeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: maxSeconds,
      default: 120,
      description: 'seconds that one turn may take',
    },
    maxConnections: { type: 'integer', minimum: 1, default: 64, description: 'open connections' },
    maxConnectionRate: { type: 'integer', minimum: 1, default: 20, description: 'new connections a second' },
    handshakeTimeout: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: maxSeconds,
      default: 10,
      description: 'seconds that a handshake may take',
    },
    maxRequests: { type: 'integer', minimum: 1, default: 1024, description: 'unanswered requests of one connection' },
    maxNodes: { type: 'integer', minimum: 1, default: 256, description: 'nodes of one graph' },
    maxTools: { type: 'integer', minimum: 1, default: 128, description: 'tools of one node' },
    maxSteps: { type: 'integer', minimum: 1, default: 4096, description: 'steps that a client may let a turn take' },
    maxAgents: { type: 'integer', minimum: 1, default: 256, description: 'agents of one session' },
    maxMessageBytes: { type: 'integer', minimum: 1, default: 262144, description: 'bytes of one user message' },
    maxPatterns: { type: 'integer', minimum: 1, default: 10_000, description: 'entries of one string storage' },
    logLevel: {
      type: 'string',
      enum: ['silent', 'error', 'warn', 'info', 'debug'],
      default: 'info',
      description: 'how much to log, on standard error',
    },
    json: { type: 'boolean', default: false, description: 'print JSON, for machines' },
    parentPid: { type: 'integer', minimum: 0, default: 0, description: 'process to end with; 0 = none' },
    stdin: { type: 'boolean', default: false, description: 'end when standard input ends' },
    portFile: { type: 'string', default: '', description: 'file to write the JSON line to' },
  },
} as const satisfies ObjectSchema;

/** Options of the server, every one given. */
export type ServerOptions = FromSchema<typeof serverSchema>;

/** How much a session may ask for, by the names of the code. */
export interface Limits {
  readonly agents: number;
  /** Bytes of a message, and of all its variables. */
  readonly messageBytes: number;
  /** Entries of a string storage or of a node's own strings. */
  readonly patterns: number;
  /** Requests of one connection that wait for their answer. */
  readonly requests: number;
  readonly nodes: number;
  readonly tools: number;
  /** Nodes that one turn may visit. */
  readonly steps: number;
}

/** The limits among the options. */
export const limitsOf = (options: ServerOptions): Limits => ({
  agents: options.maxAgents,
  messageBytes: options.maxMessageBytes,
  patterns: options.maxPatterns,
  requests: options.maxRequests,
  nodes: options.maxNodes,
  tools: options.maxTools,
  steps: options.maxSteps,
});

/** The schema of one option. */
export type OptionSchema = Schema & { readonly description: string };

/** The environment variable of an option: TURNGRAPH_ and its name in capitals. */
export const variableOf = (option: string): string => `TURNGRAPH_${option.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`;

const read = createReader(serverSchema);

/** Checks server options and fills in their defaults. */
export function readServerOptions(given: unknown): ReadResult<ServerOptions> {
  const reading = read(given);
  if (!reading.ok) return reading;
  const { graphs, catalogue, models, cache } = reading.value;
  const folders = envPaths('turngraph', { suffix: '' });
  const found = {
    graphs: graphs || ownOrBundled('graphs'),
    catalogue: catalogue || ownOrBundled('models.json'),
    models: models || join(folders.data, 'models'),
    cache: cache || folders.cache,
  };
  return { ok: true, value: { ...reading.value, ...found } };
}

/** The options of a server that was told nothing. */
export function defaultServerOptions(): ServerOptions {
  const reading = readServerOptions({});
  if (!reading.ok) throw new TypeError('the defaults of the server options do not fit their schema');
  return reading.value;
}

// In a folder without graphs or catalogue of its own, those of the package serve.
const ownOrBundled = (name: string): string =>
  existsSync(name) ? name : fileURLToPath(new URL(`../${name}`, import.meta.url));
