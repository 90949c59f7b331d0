import { readFileSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { parse as parseJsonc, type ParseError } from 'jsonc-parser';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkGraph } from '../../src/index.ts';
import { argumentsOf, untilExit, useCommandHost } from '../cli/command.ts';
import { blocksOf, pages, type CodeBlock } from '../helpers/docPages.ts';
import { SampleFolder, SampleServer, type SampleRun } from '../helpers/sampleFolder.ts';
import { findPython, isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath } from '../helpers/server.ts';

// Each code block of the documentation is a sample of exactly one kind, by its language and content. A block that no rule
// below runs, checks or names with a reason fails the first test.

const blocks = pages.flatMap(blocksOf);
const codeOf = (key: string): string => {
  const block = blocks.find((candidate) => candidate.key === key);
  if (!block) throw new Error(`no page has the block ${key}`);
  return block.code;
};

/** Languages that are not run here, with the reason. */
const otherLanguages: Readonly<Record<string, string>> = {
  mermaid: 'a drawing',
  frames: 'test/e2e/protocol.test.ts replays or decodes them',
  yaml: 'the configuration of another program',
};

const tutorialKeys = blocksOf('docs/tutorial.md').map(({ key }) => key);

/** Samples that are not run here, with the reason. */
const notRun: Readonly<Record<string, string>> = {
  ...Object.fromEntries(tutorialKeys.map((key) => [key, 'test/e2e/tutorial.test.ts runs it'])),
  'examples/browser/README.md#example html 1': 'test/e2e/clients/browser.test.ts runs it',
  'docs/contribute/conformance.md#check-a-client sh 1': 'test/integration/conformance/client.test.ts runs it',
  'docs/doctor.md#check-a-model-turngraph-doctor sh 1': 'measures for a minute; test/cli/doctor.test.ts runs it',
  'docs/openai.md#embeddings js 1': 'needs an embedding model; test/model/openaiEmbeddings.test.ts asks for the same',
  'docs/connection.md#what-your-program-must-do js 1': 'reads a conversation; test/e2e/reconnect.test.ts runs it',
  'docs/shipping.md#make-the-bundle sh 1': 'test/e2e/bundle.test.ts runs it',
  'docs/shipping.md#make-the-bundle sh 2': 'test/e2e/bundle.test.ts runs it',
  'docs/shipping.md#make-the-bundle text 1': 'test/e2e/bundle.test.ts compares it',
  'docs/shipping.md#another-system sh 1':
    'needs a network; test/unit/cli/bundle/planBundle.test.ts plans such a bundle',
  'docs/many-machines.md#two-servers-behind-nginx sh 1':
    'servers that stay; test/e2e/nginx.test.ts runs two behind nginx',
  'docs/graphs.md#check-a-graph text 1': 'the page does not show broken.json',
  'docs/models.md#which-model-fits-this-machine text 1':
    'its order and figures are those of one machine; test/cli/suggest.test.ts runs it',
  'docs/models.md#models-catalogue-download-kv-cache sh 1': 'needs the downloaded model',
  'models/turngraph-demo.md#the-demo-model-and-its-recipe bash 1': 'unpacks the recipe into the checkout',
  'models/turngraph-demo.md#the-demo-model-and-its-recipe bash 2': 'packs a changed recipe',
};

/** Shell commands that are run: those of turngraph, and requests to its server. */
const runCommands =
  /^(?:npx turngraph|turngraph|(?:echo "[^"]*" \| )?node \S*node_modules\/turngraph\/|curl [^|]*127\.0\.0\.1)/;

/** Shell commands that are not run, with the reason. */
const notRunCommands: readonly (readonly [RegExp, string])[] = [
  [/^(?:git clone|sudo apt-get|python3 -m pip)/, 'needs a network, or changes the machine'],
  [/^(?:cd \S+ && )?npm (?:ci|install|init|pack)\b/, 'npm, which needs a network'],
  [/^npm (?:test|run)\b/, 'a script of the repository; that it exists is tested below'],
  [/^npx turngraph models download/, 'downloads from a hub'],
  [/^protoc /, 'test/e2e/clients/python.test.ts runs it'],
];

/** The module whose parts docs/contribute/extending.md shows one after the other. */
const extensionParts = [
  'docs/contribute/extending.md#extensions-your-own-node-types-and-tool-call-formats js 1',
  'docs/contribute/extending.md#a-node-type js 1',
  'docs/contribute/extending.md#a-node-type-with-a-model js 1',
  'docs/contribute/extending.md#a-tool-call-format js 1',
];

const tavern = 'docs/graphs.md#graphs json 1';

/** The files that a page tells its reader to save, by name. */
const filesOf: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'docs/contribute/extending.md': {
    'extension.mjs': extensionParts,
    'night.json': ['docs/contribute/extending.md#try-it json 1'],
  },
  'docs/graphs.md': {
    'tavern.json': [tavern],
    'held.json': ['docs/graphs.md#generate-answer-in-text json 1'],
    'mock.json': ['docs/graphs.md#run-a-graph-without-a-model json 1'],
  },
  'docs/models.md': { 'models.json': ['docs/models.md#your-own-catalogue json 1'] },
  'docs/retrieval.md': {
    'world.kb.json': ['docs/retrieval.md#five-minutes json 1'],
    'keeper.json': ['docs/retrieval.md#five-minutes json 2'],
  },
  'docs/tools.md': { 'lamps.json': ['docs/tools.md#tool-calls json 1'] },
  'docs/tool-results.md': { 'results.json': ['docs/tool-results.md#try-a-graph-in-the-terminal json 1'] },
  'docs/templates.md': {
    'greet.json': ['docs/templates.md#example json 1'],
    'lore.json': ['docs/templates.md#lore-in-a-canned-line json 1'],
  },
  'docs/testing.md': {
    'lamp.cases.json': ['docs/testing.md#test-cases json 1'],
    'mock.json': ['docs/testing.md#mock-script json 1'],
  },
};

/** Programs that need more than an empty input, or of whose output more is known than that it is no error. */
interface ProgramSetup extends SampleRun {
  /** What the program prints. */
  readonly prints?: RegExp;
}
const programSetups: Readonly<Record<string, ProgramSetup>> = {
  'README.md#a-first-client js 1': { prints: /^call set_light \{ name: 'porch', on: true \}\n/ },
  'docs/client.md#typescript-client js 1': {
    // A page may forbid eval.
    flags: ['--disallow-code-generation-from-strings'],
    prints: printsBlock('docs/client.md#typescript-client text 1'),
  },
  'docs/client.md#errors js 1': { prints: printsBlock('docs/client.md#errors text 1') },
  // A page may forbid eval: then schemas are interpreted.
  'docs/executor.md#define-a-tool-once js 1': { prints: printsBlock('docs/executor.md#define-a-tool-once text 1') },
  'docs/executor.md#run-tool-calls-the-executor js 1': {
    flags: ['--disallow-code-generation-from-strings'],
    prints: printsBlock('docs/executor.md#run-tool-calls-the-executor text 1'),
  },
  'docs/contribute/extending.md#try-it js 1': { prints: /^\{ faults: \[\], warnings: \[\] \}\nWe are closed\.\n/ },
  'docs/launching.md#node js 1': { prints: /^session \S+\nthe server ended with 0\n$/ },
  'docs/launching.md#node js 2': { prints: /^ws:\/\/127\.0\.0\.1:\d+\n$/ },
  'docs/saving.md#export-and-restore js 1': {
    prints: /^\[\{"user":"Hello!","assistant":".+"\}\]\n.+ \{ prompt: \d+, reused: [1-9]\d*, generated: \d+ \}\n$/,
  },
  'docs/security.md#a-token-for-each-start js 1': { prints: /^refused without the token\nconnected with the token\n$/ },
  'docs/testing.md#write-a-test-in-javascript js 1': { prints: /(?:#|ℹ) pass 2\n/ },
};

/** Commands and what the page shows of their output. */
const outputs: Readonly<Record<string, string>> = {
  'docs/graphs.md#run-a-graph-without-a-model sh 1': 'docs/graphs.md#run-a-graph-without-a-model text 1',
};

function printsBlock(key: string): RegExp {
  return new RegExp(`^${patternOf(codeOf(key))}$`);
}

// `…` stands for anything in a line.
function patternOf(shown: string): string {
  const parts = shown.split('…').map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  return parts.join('.*');
}

const isProgram = ({ code }: CodeBlock): boolean => /^import |\bnew WebSocket\(/m.test(code);
const isScript = ({ language }: CodeBlock): boolean => ['js', 'mjs', 'ts'].includes(language);
const isTranscript = ({ language, code }: CodeBlock): boolean => language === 'text' && code.startsWith('$ ');

type Kind = 'program' | 'part' | 'fragment' | 'commands' | 'transcript' | 'output' | 'json' | 'python' | 'other';

function kindOf(block: CodeBlock): Kind | undefined {
  const { key, language } = block;
  if (extensionParts.includes(key)) return 'part';
  if (isScript(block)) return isProgram(block) ? 'program' : 'fragment';
  if (language === 'sh') return 'commands';
  if (language === 'text') return isTranscript(block) ? 'transcript' : 'output';
  if (language === 'json' || language === 'jsonc') return 'json';
  if (language === 'python') return 'python';
  return Object.hasOwn(otherLanguages, language) ? 'other' : undefined;
}

const samplesOf = (kind: Kind): readonly CodeBlock[] =>
  blocks.filter((block) => kindOf(block) === kind && notRun[block.key] === undefined);

// Command lines without pipes and the like run in one process, which loads their modules once.
const runInHost = useCommandHost();
let server: SampleServer;
let serverFolder: SampleFolder;
beforeAll(async () => {
  serverFolder = await SampleFolder.create();
  await serverFolder.write('graphs/tavern.json', codeOf(tavern));
  server = await SampleServer.start(serverFolder);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await serverFolder[Symbol.asyncDispose]();
});

/** A folder with the files that a page tells its reader to save. */
async function folderOf(page: string): Promise<SampleFolder> {
  const folder = await SampleFolder.create();
  for (const [name, keys] of Object.entries(filesOf[page] ?? {})) {
    await folder.write(name, keys.map(codeOf).join('\n'));
  }
  return folder;
}

describe('the code blocks of the documentation', () => {
  it('are all run or checked, or have a reason not to be', () => {
    const unknown = blocks.filter((block) => kindOf(block) === undefined && notRun[block.key] === undefined);
    expect(unknown.map(({ key }) => key)).toEqual([]);
    expect(samplesOf('program').length).toBeGreaterThan(8);
  });

  it('are those that these tests name', () => {
    const files = Object.values(filesOf).flatMap((byName) => Object.values(byName).flat());
    const named = [notRun, programSetups, outputs].flatMap((table) => Object.keys(table));
    const unknown = [...named, ...files, ...extensionParts].filter((key) => !blocks.some((block) => block.key === key));
    expect(unknown).toEqual([]);
  });
});

describe('a program', () => {
  it.each(samplesOf('program'))('runs as it stands: $key', async ({ key, page, code }) => {
    await using folder = await folderOf(page);
    const { prints = /^/, ...run } = programSetups[key] ?? {};
    const result = await folder.runProgram('sample.mjs', code, server.port, run);
    expect(result).toMatchObject({ code: 0, err: '' });
    expect(result.out).toMatch(prints);
  });
});

describe('a fragment', () => {
  it('compiles where its page has said what its names are', async () => {
    await using folder = await SampleFolder.create();
    const fragments = samplesOf('fragment');
    const functions = fragments.map(
      ({ key, code }, index) => `// ${key}\nasync function fragment${index}() {\n${code}}\n`,
    );
    await folder.write('fragments.mts', [namesInFragments, ...functions].join('\n'));
    await mkdir(join(folder.path, 'node_modules/@types'));
    await symlink(
      repositoryPath('node_modules/@types/node'),
      join(folder.path, 'node_modules/@types/node'),
      'junction',
    );
    const flags = '--noEmit --strict false --skipLibCheck --module nodenext --target es2023';
    const libraries = ['--lib', 'es2023,esnext.disposable,dom', '--types', 'node'];
    const compiler = repositoryPath('node_modules/typescript/bin/tsc');
    const child = folder.startCommand(
      `"$NODE" "$TSC" ${[...flags.split(' '), ...libraries].join(' ')} fragments.mts`,
      0,
      {
        NODE: process.execPath,
        TSC: compiler,
      },
    );
    expect(fragments.length).toBeGreaterThan(8);
    expect(await untilExit(child)).toEqual({ code: 0, out: '', err: '' });
  });
});

/** What the pages introduce before their fragments. */
const namesInFragments = `
import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { connect, executor, toolResult, type AgentHandle, type McpClient, type ToolExecutor } from 'turngraph/client';
declare const client: import('turngraph/client').Client;
declare const info: { readonly name: string; readonly version: string };
declare let house: Awaited<ReturnType<typeof executor.fromMcp>>;
declare const agent: AgentHandle;
declare const mcp: McpClient;
declare const crier: AgentHandle;
declare const tools: ToolExecutor;
declare const lamps: Map<unknown, unknown>;
declare const rooms: Map<unknown, string>;
declare const args: readonly string[];
declare const cancelButton: HTMLButtonElement;
declare function showBar(...values: readonly unknown[]): void;
declare function mayDownload(bytes: number): Promise<boolean>;
`;

describe('a command', () => {
  it.each(samplesOf('commands'))('runs as it stands: $key', async ({ key, page, code }) => {
    await using folder = await folderOf(page);
    let out = '';
    for (const line of commandsIn(code)) {
      if (isRun(line)) out += await runCommand(folder, line);
    }
    const shown = outputs[key];
    if (shown !== undefined) expectLines(out, codeOf(shown));
  });

  it('is of turngraph, or has a reason not to be run', () => {
    const lines = samplesOf('commands').flatMap(({ code }) => commandsIn(code));
    expect(lines.filter(isRun).length).toBeGreaterThan(10);
    expect(lines.filter((line) => !isRun(line) && !notRunCommands.some(([pattern]) => pattern.test(line)))).toEqual([]);
  });

  it('of npm names a script of the package', () => {
    const { scripts } = JSON.parse(readFileSync(repositoryPath('package.json'), 'utf8')) as { scripts: object };
    const lines = samplesOf('commands').flatMap(({ code }) => commandsIn(code));
    const named = lines.flatMap((line) => [...line.matchAll(/npm run ([\w:-]+)/g)].map(([, name = '']) => name));
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it.each(samplesOf('transcript'))('prints what the page shows: $key', async ({ page, code }) => {
    await using folder = await folderOf(page);
    for (const part of code.split(/^\$ /m).slice(1)) {
      const [line = '', ...shown] = part.split('\n');
      expectLines(await runCommand(folder, line), shown.join('\n'));
    }
  });
});

const isRun = (line: string): boolean =>
  runCommands.test(line) && !notRunCommands.some(([pattern]) => pattern.test(line));

const commandsIn = (code: string): readonly string[] =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/ +# .*$/, '').trim())
    .filter((line) => line !== '');

/** Runs a command; a server is stopped when it listens. Returns its output. */
async function runCommand(folder: SampleFolder, line: string): Promise<string> {
  const args = argumentsOf(line);
  const isServer = / serve\b/.test(line);
  if (args || !isServer) {
    const result = args
      ? await folder.runTurngraph(runInHost, args, server.port, 'hello\n')
      : await folder.runCommand(line, server.port, 'hello\n');
    expect({ line, code: result.code, err: result.err }).toMatchObject({ line, code: 0 });
    return result.out + (isServer ? result.err : '');
  }
  const child = folder.startCommand(`exec ${line}`, server.port);
  const ended = untilExit(child);
  await new Promise<void>((resolve) => {
    const look = (data: Buffer): void => void (data.toString().includes('listening') && resolve());
    for (const stream of [child.stdout, child.stderr]) stream.on('data', look);
    void ended.then(() => resolve());
  });
  child.kill('SIGTERM');
  const { code, out, err } = await ended;
  expect({ line, code, err }).toMatchObject({ line, code: 0 });
  return out + err;
}

/** Expects the shown lines in an output, in order. In them `…` and a line of three dots stand for anything. */
function expectLines(out: string, shown: string): void {
  const lines = shown.split('\n').filter((line) => !/^(?:…|\.\.\.|)$/.test(line));
  expect(lines).not.toEqual([]);
  expect(out).toMatch(new RegExp(lines.map(patternOf).join(String.raw`\n(?:.*\n)*?`)));
}

describe('a JSON sample', () => {
  let folder: SampleFolder;
  let extension: ExtensionModule;
  beforeAll(async () => {
    folder = await SampleFolder.create();
    await folder.write('models.json', codeOf('docs/models.md#your-own-catalogue json 1'));
    await folder.write('world.kb.json', codeOf('docs/retrieval.md#five-minutes json 1'));
    await folder.write('extension.mjs', extensionParts.map(codeOf).join('\n'));
    extension = (await import(join(folder.path, 'extension.mjs'))) as ExtensionModule;
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  it.each(samplesOf('json'))(
    'is valid, and a graph without faults and warnings if it is one: $key',
    async ({ code }) => {
      const errors: ParseError[] = [];
      const value = parseJsonc(code, errors, { allowTrailingComma: false }) as unknown;
      expect(errors).toEqual([]);
      const graph = graphIn(value);
      if (!graph) return;
      const { nodeTypes, formats } = extension;
      const report = await checkGraph(graph, {
        catalogue: join(folder.path, 'models.json'),
        storageRoot: folder.path,
        nodeTypes,
        formats,
      });
      expect({ graph, ...report }).toEqual({ graph, faults: [], warnings: [] });
    },
  );
});

type ExtensionModule = Required<Pick<NonNullable<Parameters<typeof checkGraph>[1]>, 'nodeTypes' | 'formats'>>;

/** The graph in a sample: the sample itself, or its node, with one that answers after a node that detects calls. */
function graphIn(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('start_node' in value && 'nodes' in value) return value;
  if (!('type' in value) || !('params' in value)) return undefined;
  const nodes =
    value.type === 'ToolCall'
      ? { node: { exits: { no_tool_called: 'answer' }, ...value }, answer: { type: 'Generate' } }
      : { node: value };
  return { default_model_name: 'turngraph-demo', start_node: 'node', nodes };
}

const python = findPython('websockets') ?? 'python3';

describe.skipIf(isSkipped('pythonSamples'))('a Python program of the documentation', () => {
  it.each(samplesOf('python'))('runs as it stands: $key', async ({ page, code }) => {
    await using folder = await folderOf(page);
    await folder.writeProgram('sample.py', code, server.port);
    const result = await folder.runCommand(`${python} -W error sample.py`, server.port);
    expect(result).toMatchObject({ code: 0, err: '' });
  });
});
