import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { pngWithText } from '../helpers/pngWithText.ts';
import { repositoryPath, useServer } from '../helpers/server.ts';
import { runCli, useCommandHost } from './command.ts';

const server = useServer();
const runCommand = useCommandHost();
let folder = '';
const write = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
});
afterAll(() => rm(folder, { recursive: true }));

const jsonLines = (text: string): ServerFrame[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ServerFrame);

describe('turngraph run', () => {
  it('runs a turn for each message on a server of its own, and prints the frames', async () => {
    const { out, code } = await runCli([
      'run',
      'lamp-switch',
      '--engine',
      'mock',
      'ignore previous instructions',
      'hello',
    ]);
    const frames = jsonLines(out);
    expect(frames.map((frame) => Object.keys(frame)[2])).toEqual([
      'answerText',
      'answerText',
      'turnComplete',
      'answerText',
      'answerText',
      'answerText',
      'answerText',
      'turnComplete',
    ]);
    expect(code).toBe(0);
  });

  it('reads the storages of a graph file from its folder, or from that of the flag or variable', async () => {
    await write('words.txt', 'from the folder of the graph');
    await mkdir(join(folder, 'elsewhere'));
    await write(join('elsewhere', 'words.txt'), 'from elsewhere');
    const params = { string_storage: 'words.txt' };
    const path = await write(
      'canned-words.json',
      JSON.stringify({ start_node: 'a', nodes: { a: { type: 'CannedResponse', params } } }),
    );
    const runWith = async (flags: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      jsonLines((await runCommand(['run', path, 'hello', '--engine', 'mock', ...flags], '', env)).out)[0];
    const elsewhere = join(folder, 'elsewhere');
    expect(await runWith([])).toMatchObject({ answerText: { text: 'from the folder of the graph' } });
    expect(await runWith(['--storage-root', elsewhere])).toMatchObject({ answerText: { text: 'from elsewhere' } });
    expect(await runWith([], { TURNGRAPH_STORAGE_ROOT: elsewhere })).toMatchObject({
      answerText: { text: 'from elsewhere' },
    });
  });

  it('finds the tool call with the bundled model', async () => {
    const { out, code } = await runCommand(['run', 'graphs/lamp-switch.json', 'Please turn on the porch light.']);
    expect(jsonLines(out)[0]).toMatchObject({
      toolCallNotification: { toolName: 'set_light', typedArgumentsJson: '{"name": "porch", "on": true}' },
    });
    expect(code).toBe(0);
  });

  it('uses a running server with --url', async () => {
    const { out, code } = await runCommand(['run', 'chat', '--url', server().url, '--engine', 'mock', 'hello']);
    expect(jsonLines(out).at(-1)).toMatchObject({ turnComplete: { status: 'SUCCESS' } });
    expect(code).toBe(0);
  });

  it('finds a storage file in the folder of the graph file', async () => {
    await write('lines.txt', 'a line\n');
    const graph = {
      start_node: 'say',
      nodes: { say: { type: 'CannedResponse', params: { string_storage: 'lines.txt' } } },
    };
    const path = await write('storage.json', JSON.stringify(graph));
    const { out } = await runCommand(['run', path, '--engine', 'mock', 'hello']);
    expect(jsonLines(out)[0]).toMatchObject({ answerText: { text: 'a line' } });
  });

  it('passes variables to templates', async () => {
    const graph = {
      start_node: 'say',
      nodes: { say: { type: 'CannedResponse', params: { inline_strings: ['{{who}}: {{a}}'] } } },
    };
    const path = await write('variables.json', JSON.stringify(graph));
    const { out } = await runCommand([
      'run',
      path,
      '--engine',
      'mock',
      '--var',
      'who=Brunhild',
      '--var',
      'a=b=c',
      'hello',
    ]);
    expect(jsonLines(out)[0]).toMatchObject({ answerText: { text: 'Brunhild: b=c' } });
  });

  it.each([
    ['an unknown graph', ['run', 'lamp-swich', 'hello'], 1, 'did you mean "lamp-switch"?'],
    ['a variable without a value', ['run', 'chat', 'hi', '--var', 'foo'], 2, '--var foo must be name=value'],
    ['no message', ['run', 'lamp-switch'], 2, "missing required argument 'message'"],
    [
      'a server that does not run',
      ['run', 'chat', '--url', 'ws://127.0.0.1:1', 'hello'],
      1,
      'CONNECTION_FAILED (1001)',
    ],
  ])('reports %s', async (_, args, code, message) => {
    const ran = await runCommand(args);
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toContain(message);
  });
});

describe('a models.json with an invalid entry', () => {
  const problem = '/models/0/descripton is not known here; did you mean "description"?';
  let catalogue = '';
  beforeAll(async () => {
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['mine.gguf'] }];
    catalogue = await write('models.json', JSON.stringify({ models: [{ name: 'mine', descripton: '', variants }] }));
  });

  it.each([
    ['chat', ['chat', 'chat', '--model', 'mine'], 1],
    ['run', ['run', 'chat', '--model', 'mine', 'hello'], 1],
    ['doctor', ['doctor', 'mine'], 2],
    ['models info', ['models', 'info', 'mine'], 2],
  ])('makes %s say what is wrong with the model', async (_, args, code) => {
    const ran = await runCommand([...args, '--catalogue', catalogue], 'hello\n');
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toMatch(
      /error: .*the catalogue has an entry "mine", but it cannot be used: .*models\.json:1:\d+: /,
    );
    expect(ran.err.trimEnd().split('\n').at(-1)).toContain(problem);
  });

  it('is listed without it, with the problem on stderr', async () => {
    const { out, err, code } = await runCommand(['models', 'list', '--catalogue', catalogue]);
    expect({ err, code }).toEqual({ err: expect.stringContaining(problem) as unknown, code: 0 });
    expect(out).not.toContain('mine');
    expect(out).toContain('turngraph-demo  LOCAL');
  });

  it('still serves the bundled model', async () => {
    const { out, code } = await runCommand([
      'run',
      'lamp-switch',
      '--catalogue',
      catalogue,
      'Please turn on the porch light.',
    ]);
    expect(jsonLines(out)[0]).toMatchObject({ toolCallNotification: { toolName: 'set_light' } });
    expect(code).toBe(0);
  });
});

describe('a model file that is in no catalogue', () => {
  const question = 'Please turn on the porch light.';
  const lightCall = { toolCallNotification: { toolName: 'set_light' } };
  beforeAll(async () => {
    await copyFile(repositoryPath('models/turngraph-demo.gguf'), join(folder, 'mine.gguf'));
  });

  it.each(['mine.gguf', './mine.gguf'])('is run with --model %s in the working directory', async (model) => {
    const graph = repositoryPath('graphs/lamp-switch.json');
    const { out, code } = await runCommand(['run', graph, '--model', model, question], '', {}, folder);
    expect(jsonLines(out)[0]).toMatchObject(lightCall);
    expect(code).toBe(0);
  });

  it('is chatted with, by its whole path', async () => {
    const { out, err } = await runCommand(
      ['chat', 'tavern-npc', '--model', join(folder, 'mine.gguf')],
      'Give me 2 apples.\n',
    );
    expect(out).toBe('Here you go.\n');
    expect(err).toContain('-> give_item {"item":"apples","count":2}');
  });

  it('needs no .gguf in its name', async () => {
    await copyFile(join(folder, 'mine.gguf'), join(folder, 'sha256-4711'));
    const { out } = await runCommand(['run', 'lamp-switch', '--model', join(folder, 'sha256-4711'), question]);
    expect(jsonLines(out)[0]).toMatchObject(lightCall);
  });

  it.each([
    ['is not there', ['--model', 'none.gguf'], 1, /MODEL_NOT_ON_DISK \(6008\): there is no file .*none\.gguf$/],
    ['is no model', ['--model', 'package.json'], 1, /MODEL_LOAD_FAILED \(6009\): .*package\.json cannot be loaded/],
    [
      'cannot be given to another server',
      ['--model', 'models/turngraph-demo.gguf', '--url', 'ws://127.0.0.1:1'],
      2,
      /--model models\/turngraph-demo\.gguf cannot be used with --url: that server uses the models of its own catalogue/,
    ],
  ])('%s', async (_, args, code, message) => {
    const ran = await runCommand(['run', 'lamp-switch', 'hello', ...args]);
    expect(ran).toMatchObject({ code, out: '' });
    expect(ran.err).toMatch(new RegExp(message, 'm'));
  });
});

describe('a graph that a command names', () => {
  const run = (cwd: string, ...args: readonly string[]) => runCommand(args, '', {}, cwd);
  let project = '';
  beforeAll(async () => {
    project = join(folder, 'project');
    const graph = { start_node: 'say', nodes: { say: { type: 'CannedResponse', params: { inline_strings: ['hi'] } } } };
    await mkdir(join(project, 'graphs'), { recursive: true });
    await writeFile(join(project, 'here.json'), JSON.stringify(graph));
    await writeFile(join(project, 'graphs', 'there.json'), JSON.stringify(graph));
  });

  it('is found in the graphs folder by check, draw, chat and run', async () => {
    const there = join('graphs', 'there.json');
    expect(await run(project, 'check', 'there', 'here.json')).toEqual({
      out: `${there}: ok\nhere.json: ok\n`,
      err: '',
      code: 0,
    });
    expect((await run(project, 'draw', 'there')).out).toContain('say');
    expect((await run(project, 'run', 'there', 'hello', '--engine', 'mock')).out).toContain('"hi"');
    expect((await run(project, 'check', 'there', '--graphs', join(project, 'graphs'))).code).toBe(0);
  });

  it('may need models that are not on disk: check says which, and how to get them', async () => {
    const variant = { engine: 'llama-cpp', files: ['a.gguf'] };
    const hub = { ...variant, huggingface_repo: 'ann/x' };
    const models = [
      { name: 'finder', purpose: 'embedding', variants: [hub] },
      { name: 'talker', variants: [{ ...variant, local_path: 'gone' }] },
    ];
    await writeFile(join(project, 'absent.models.json'), JSON.stringify({ models }));
    const inline_strings = ['a'];
    const params = { inline_strings, match: 'vectors', embedding_model: 'finder' };
    const nodes = {
      find: { type: 'Retrieve', params, exits: { found: 'say' } },
      say: { type: 'Generate', params: {} },
    };
    const graph = { start_node: 'find', default_model_name: 'talker', nodes };
    await writeFile(join(project, 'finding.json'), JSON.stringify(graph));
    const { code, err } = await run(project, 'check', 'finding.json', '--catalogue', 'absent.models.json');
    expect(code).toBe(0);
    expect(err).toMatch(/warning: the model "finder" is not on disk.*turngraph models download "finder" gets it$/m);
    expect(err).toMatch(/warning: the model "talker" is not on disk: there is no file .*gone/);
  });

  it('may name tools that a program brings: check says which, draw and audit need none', async () => {
    const parameters = [{ name: 'pier', type: 'integer', description: 'Number of the pier.' }];
    const tools = ['ring_bell', { name: 'moor', description: 'Tie up.', parameters }, 'open_door'];
    const graph = { start_node: 'act', nodes: { act: { type: 'ToolCall', params: { tools } } } };
    await writeFile(join(project, 'named.json'), JSON.stringify({ default_model_name: 'turngraph-demo', ...graph }));
    const names = 'act.params.tools only names "ring_bell", "open_door": the program brings them with createAgent';
    const checked = await run(project, 'check', 'named.json');
    expect(checked).toMatchObject({ out: 'named.json: ok\n', code: 0 });
    expect(checked.err).toContain(`named.json: warning: ${names}\n`);
    expect(await run(project, 'draw', 'named.json')).toMatchObject({ err: '', code: 0 });
    const audited = await run(project, 'audit', 'named.json');
    expect(audited).toMatchObject({ err: '', code: 0 });
    expect(audited.out).toMatch(
      /^\| `open_door` +\| `act` +\| \*\*none\*\* +\| is sent to the client, consequential +\|$/m,
    );
    expect((await run(project, 'run', 'named.json', 'hello', '--engine', 'mock')).err).toContain(
      'act.params.tools[0] names the tool "ring_bell", which the program does not bring: createAgent.tools is empty; bring it, or declare it in the graph',
    );
  });

  it('may be among storage files, which check reads, too', async () => {
    await writeFile(join(project, 'good.kb.json'), '[{"id": "inn", "text": "The inn is full."}]');
    await writeFile(join(project, 'bad.kb.json'), '[\n  {"id": "inn"}\n]');
    expect(await run(project, 'check', 'here.json', 'good.kb.json', 'bad.kb.json')).toEqual({
      out: 'here.json: ok\ngood.kb.json: ok\n',
      err: expect.stringMatching(/^bad\.kb\.json, 2:\d+: \S*text is missing/) as unknown,
      code: 1,
    });
  });

  it('may have storages with mistakes, of which check shows each with its file and line', async () => {
    await writeFile(join(project, 'bad.txt'), '# attacks\n\nfine\n(?=x)\n\na(\n');
    await writeFile(join(project, 'many.txt'), '[a\n'.repeat(30));
    const guarded = (storage: string) => {
      const node = { type: 'Guardrail', params: { string_storage: storage }, exits: { triggered: 'end' } };
      const end = { type: 'CannedResponse', params: { inline_strings: ['No.'] } };
      return writeFile(
        join(project, 'guarded.json'),
        JSON.stringify({ start_node: 'guard', nodes: { guard: node, end } }),
      );
    };
    await guarded('bad.txt');
    const { err } = await run(project, 'check', 'guarded.json');
    expect(err.trim().split('\n')).toEqual([
      expect.stringMatching(
        /^guarded\.json:1:\d+: guard\.params\.string_storage \(bad\.txt, line 4\) is not .*"\(\?=x\)"/,
      ),
      expect.stringMatching(/string_storage \(bad\.txt, line 6\) is not a supported pattern .*: "a\("/),
    ]);
    await guarded('many.txt');
    expect((await run(project, 'check', 'guarded.json')).err.trim().split('\n')).toHaveLength(20);
    await writeFile(join(project, 'pages.kb.json'), '{"entries": [{"key": ["/(/", "/[/"], "content": "x"}]}');
    expect((await run(project, 'check', 'pages.kb.json')).err.trim().split('\n')).toEqual([
      expect.stringMatching(/^pages\.kb\.json, 1:\d+: entries\[0\]\.key\[0\] /),
      expect.stringMatching(/^pages\.kb\.json, 1:\d+: entries\[0\]\.key\[1\] /),
    ]);
  });

  it('may be a lorebook by mistake, which check says', async () => {
    await writeFile(join(project, 'veth.json'), '{"entries": {"0": {"key": ["a"], "content": "A"}}}');
    expect(await run(project, 'check', 'veth.json')).toEqual({
      out: '',
      err: 'veth.json looks like a lorebook or a character card, not like a graph; name it veth.kb.json\n',
      code: 1,
    });
  });

  it('may be among files with endings in capitals, of which check reports what it cannot read', async () => {
    const capitals = join(project, 'capitals');
    for (const path of ['cards', 'graphs']) await mkdir(join(capitals, path), { recursive: true });
    for (const name of ['HERE.JSON', join('graphs', 'there.Json')])
      await copyFile(join(project, 'here.json'), join(capitals, name));
    const card = { spec: 'chara_card_v2', data: { character_book: { entries: [{ keys: ['a'], content: 'A' }] } } };
    const text = Buffer.from(JSON.stringify(card)).toString('base64');
    await writeFile(join(capitals, 'cards', 'Upper.PNG'), pngWithText(['chara', text]));
    await writeFile(join(capitals, 'cards', 'portrait.png'), pngWithText(['Comment', 'x']));
    await writeFile(join(capitals, 'cards', 'book.KB.json'), '[{"id": "inn", "text": "The inn is full."}]');
    await writeFile(join(capitals, 'cards', 'bad.json'), Buffer.from('{"a": "\xff"}', 'latin1'));
    const [bad, book, upper] = ['bad.json', 'book.KB.json', 'Upper.PNG'].map((name) => join('cards', name));
    const ok = `HERE.JSON: ok\n${upper}: ok\n${book}: ok\n`;
    const err = `${bad} is not UTF-8; save it as UTF-8\n`;
    expect(await run(capitals, 'check', `${bad}`, 'HERE.JSON', 'cards')).toEqual({ out: ok, err: err + err, code: 1 });
    expect(await run(capitals, 'check', 'there')).toMatchObject({ code: 0, err: '' });
    expect((await run(capitals, 'run', 'there', 'hello', '--engine', 'mock')).code).toBe(0);
  });

  it.each([['check'], ['draw'], ['chat'], ['run']])(
    'gets a hint from %s when only its .json is missing',
    async (command) => {
      const { err, code } = await run(project, command, 'here', ...(command === 'run' ? ['hello'] : []));
      const prefix = command === 'check' ? '' : 'error: GRAPH_COMPILATION_FAILED (3003): ';
      expect({ err, code }).toEqual({
        err: `${prefix}here cannot be read: there is no such file, and no such graph in the folder graphs; did you mean "here.json"?\n`,
        code: 1,
      });
    },
  );

  it('gets a hint when it is like one of the folder, with .json or without', async () => {
    for (const name of ['ther', 'ther.json', 'there.json'])
      expect((await run(project, 'check', name)).err).toContain('the folder graphs; did you mean "there"?');
    for (const name of ['heer.json', join('.', 'heer'), join(project, 'heer.json')])
      expect((await run(project, 'check', name)).err).toContain('the folder graphs; did you mean "here.json"?');
    expect((await run(project, 'check', join('nowhere', 'zzz.json'))).err).toContain('; there are there\n');
    expect((await run(project, 'check', 'zzz')).err).toContain('the folder graphs; there are there\n');
    // A file that is no graph, although its name is nearer.
    await writeFile(join(project, 'heers.json'), '{"entry": ["start.ts"]}');
    expect((await run(project, 'draw', 'heer.json')).err).toContain('the folder graphs; did you mean "here.json"?');
    await writeFile(join(project, 'knip.json'), '{}');
    expect((await run(project, 'draw', 'knop.json')).err).toContain('the folder graphs; there are there\n');
  });

  it('may have the name of a folder', async () => {
    await mkdir(join(project, 'there'));
    expect((await run(project, 'run', 'there', 'hello', '--engine', 'mock')).code).toBe(0);
    expect(await run(project, 'check', 'there')).toMatchObject({
      out: `${join('graphs', 'there.json')}: ok\n`,
      code: 0,
    });
    expect(await run(project, 'check', 'graphs')).toMatchObject({
      out: `${join('graphs', 'there.json')}: ok\n`,
      code: 0,
    });
    expect((await run(project, 'run', 'graphs', 'hello')).err).toContain('graphs cannot be read: it is a folder');
  });
});

describe('turngraph chat', () => {
  it('answers each line until the input ends', async () => {
    const { out, err, code } = await runCli(['chat', 'tavern-npc'], 'Give me 2 apples.\n\nWhat do you sell?\n');
    expect(out).toBe('Here you go.\nAle, mead, mushroom stew and a soft bed upstairs.\n');
    expect(err).toContain('-> give_item {"item":"apples","count":2}');
    expect(code).toBe(0);
  });

  it('reads every line of an input that ends immediately, also when readline throws after its end', async () => {
    const throwAfterClose = `
      import { Interface } from 'node:readline/promises';
      const { prompt } = Interface.prototype;
      Interface.prototype.prompt = function () {
        if (this.closed) throw new Error('readline was closed');
        prompt.call(this);
      };`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(throwAfterClose)}` };
    const { out, code } = await runCli(['chat', 'lamp-switch', '--engine', 'mock'], 'hello\nbye\n', env);
    expect({ out, code }).toEqual({ out: 'You said: hello\nYou said: bye\n', code: 0 });
  });
});

describe('turngraph check', () => {
  it('accepts the example graphs', async () => {
    const { out, code } = await runCommand(['check', 'graphs/chat.json', 'graphs/tavern-npc.json']);
    expect(out).toBe('graphs/chat.json: ok\ngraphs/tavern-npc.json: ok\n');
    expect(code).toBe(0);
  });

  it('names file, line, column, node and field of every fault', async () => {
    const path = await write(
      'bad.json',
      `{
  "start_node": "gard",
  "nodes": {
    "guard": {
      "type": "Guardrail",
      "params": { "inline_strings": ["ok", "(?=x)"] },
      "exits": { "triggered": "b", "not_triggerd": "" }
    }
  }
}`,
    );
    const { out, err, code } = await runCommand(['check', path]);
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err.trim().split('\n')).toEqual([
      `${path}:2:3: start_node leads to no node: "gard"; did you mean "guard"?`,
      `${path}:7:18: guard.exits.triggered leads to no node: "b"`,
      `${path}:7:36: guard.exits.not_triggerd is no exit of Guardrail (it has "triggered", "not_triggered"); did you mean "not_triggered"?`,
      `${path}:6:44: guard.params.inline_strings[1] is not a supported pattern (RE2 syntax, no lookaround or backreferences): "(?=x)": invalid or unsupported Perl syntax`,
    ]);
  });

  it('says which model of a list this machine takes, also where it has none', async () => {
    const chatWith = (model_name: readonly string[]) =>
      write(
        'list.json',
        JSON.stringify({ start_node: 'a', nodes: { a: { type: 'Generate', params: { model_name } } } }),
      );
    const absent = 'Qwen2.5 0.5B Instruct (Q4_K_M)';
    const env = {
      TURNGRAPH_MODELS: join(tmpdir(), 'turngraph-no-models'),
      HF_HOME: join(tmpdir(), 'turngraph-no-hub'),
    };
    const path = await chatWith([absent, 'turngraph-demo']);
    const found = await runCommand(['check', path], '', env);
    expect({ out: found.out, code: found.code }).toEqual({ out: `${path}: ok\n`, code: 0 });
    expect(found.err).toMatch(/: warning: on this machine the list takes the model "turngraph-demo": it fits/);
    expect(found.err).toContain(`not "${absent}": it is not on disk`);
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['lost.gguf'] }];
    const catalogue = await write('lost-models.json', JSON.stringify({ models: [{ name: 'lost', variants }] }));
    await chatWith(['lost']);
    const { err } = await runCommand(['check', path, '--catalogue', catalogue], '', env);
    expect(err).toMatch(/: warning: on this machine no model of the list can be used \("lost": it is not on disk/);
    expect(err).not.toContain('takes the model');
    await chatWith([absent, 'turngraph-demmo']);
    expect(await runCommand(['check', path], '', env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('a.params.model_name cannot be used: the catalogue has no model') as unknown,
    });
  });

  it('reports a duplicate key, of which JSON.parse would keep the last', async () => {
    const path = await write('twice.json', '{\n  "start_node": "a",\n  "nodes": { "a": {}, "b": {}, "a": {} }\n}');
    const { err, code } = await runCommand(['check', path]);
    expect(err).toBe(`${path}:3:32: the key "a" occurs twice in one object\n`);
    expect(code).toBe(1);
  });

  it('skips the JSON Schema in the graphs folder', async () => {
    expect(await runCommand(['check', 'graphs/graph.schema.json'])).toMatchObject({ code: 0, out: '' });
  });

  it('reports where a file is no JSON', async () => {
    const path = await write('broken.json', '{\n  "start_node": "a",\n  "nodes": {,}\n}');
    const place = /broken\.json:3:13: is not valid JSON: value expected\n$/;
    expect(await runCommand(['check', path])).toMatchObject({ err: expect.stringMatching(place) as string, code: 1 });
    const run = await runCommand(['run', path, 'hello', '--engine', 'mock']);
    expect(run).toMatchObject({ out: '', err: expect.stringMatching(place) as string, code: 1 });
  });

  it('reports a graph that is not there, and checks the others', async () => {
    const fault = /^nowhere\.json cannot be read: there is no such file, /;
    const { out, err, code } = await runCommand(['check', 'chat', 'nowhere.json', 'weather']);
    expect(out.match(/(chat|weather)\.json: ok\n/g)).toEqual(['chat.json: ok\n', 'weather.json: ok\n']);
    expect(err).toMatch(fault);
    expect(code).toBe(1);
    const [, line = ''] = (await runCommand(['check', 'chat', 'nowhere.json', '--json'])).out.split('\n');
    expect(JSON.parse(line)).toEqual({
      file: 'nowhere.json',
      faults: [{ code: 'GRAPH_COMPILATION_FAILED', pointer: '', message: expect.stringMatching(fault) as string }],
      warnings: [],
    });
  });

  it('warns of probable mistakes in a valid graph', async () => {
    const tools = [{ name: 'f', description: 'd' }];
    const nodes = {
      a: { type: 'ToolCall', params: { tools }, exits: { tool_called: 'b', no_tool_called: 'b' } },
      b: { type: 'Guardrail', params: { inline_strings: ['x'] }, exits: { triggered: 'a', not_triggered: 'a' } },
      c: { type: 'Generate' },
    };
    const path = await write(
      'doubtful.json',
      JSON.stringify({ default_model_name: 'turngraph-demo', start_node: 'a', nodes }),
    );
    const { out, err, code } = await runCommand(['check', path]);
    expect(out).toBe(`${path}: ok\n`);
    expect(code).toBe(0);
    expect(err.trim().split('\n')).toEqual([
      `${path}: warning: c is unreachable: no exit leads to it`,
      `${path}: warning: a, b: no exit ends the turn from there; only the step budget will (max_steps_per_turn)`,
      `${path}: warning: b.exits all lead to "a": what this Guardrail finds out changes nothing`,
    ]);
  });

  it('lists the formats when the catalogue names an unknown one', async () => {
    const catalogue = await write(
      'misspelt-format.json',
      JSON.stringify({
        models: [{ name: 'm', tool_call_format: 'chatlm', variants: [{ engine: 'llama-cpp', files: ['m.gguf'] }] }],
      }),
    );
    const params = { tools: [{ name: 'f', description: 'd' }] };
    const path = await write(
      'asks-m.json',
      JSON.stringify({ default_model_name: 'm', start_node: 'a', nodes: { a: { type: 'ToolCall', params } } }),
    );
    const { err, code } = await runCommand(['check', path, '--catalogue', catalogue]);
    expect(err).toContain(
      'a.params.tool_call_format is no format: "chatlm" (models.json names it); there are chatml, llama3, mistral, generic, react, native; did you mean "chatml"?',
    );
    expect(code).toBe(1);
  });

  it('prints JSON with --json', async () => {
    const path = await write(
      'machine.json',
      '{"start_node": "a", "nodes": {"a": {"type": "Generate", "exits": {"default": "b"}}}}',
    );
    const { out } = await runCommand(['check', '--json', path]);
    expect(JSON.parse(out)).toMatchObject({
      file: path,
      faults: [
        { code: 'INVALID_EXIT_TARGET', pointer: '/nodes/a/exits/default' },
        { code: 'GRAPH_COMPILATION_FAILED', pointer: '/nodes/a/params/model_name' },
      ],
      warnings: [],
    });
  });
});

describe('turngraph audit', () => {
  it('reports on each graph in Markdown, and exits with 0 whatever is refuted', async () => {
    const { out, err, code } = await runCommand(['audit', 'guarded-chat', 'graphs/held-answer.json']);
    expect({ err, code }).toEqual({ err: '', code: 0 });
    expect(out).toContain('# Audit of guarded-chat\n');
    expect(out).toContain('- Path: `guard -[not_triggered]-> answer`\n');
    expect(out).toContain('\n# Audit of held-answer\n');
  });

  it.each([
    ['proven', 'message,bounded', 0, ''],
    [
      'refuted',
      'reachable, answer',
      1,
      'graphs/guarded-chat.json: answer is refuted on the path guard -[not_triggered]-> answer: answer sends a text of a model to the client at once: a Guardrail after it would be too late; set answer.params.hold, and let a Guardrail with "watch": "answer" follow\n',
    ],
  ])('exits with %s properties that are required', async (_, required, code, err) => {
    expect(await runCommand(['audit', 'graphs/guarded-chat.json', '--require', required])).toMatchObject({ code, err });
  });

  it.each([
    [
      'mesage',
      'error: --require names no property of a graph: "mesage" (there are message, answer, bounded, reachable); did you mean "message"?\n',
    ],
    ['message,', 'error: --require names no property of a graph: "" (there are message, answer, bounded, reachable)\n'],
    ['', 'error: --require names no property of a graph: "" (there are message, answer, bounded, reachable)\n'],
  ])('exits with 2 where a required property is "%s"', async (required, err) => {
    expect(await runCommand(['audit', 'chat', '--require', required])).toEqual({ code: 2, out: '', err });
  });

  it('prints one JSON document per graph with --json', async () => {
    const { out, code } = await runCommand(['audit', 'guarded-chat', 'lamp-switch', '--json']);
    const [first, second] = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    expect(code).toBe(0);
    expect(first).toMatchObject({
      file: expect.stringContaining('guarded-chat.json') as unknown,
      faults: [],
      start: 'guard',
      nodes: 3,
      properties: {
        message: { proven: true },
        answer: {
          proven: false,
          path: [{ node: 'guard', exit: 'not_triggered' }, { node: 'answer' }],
          nodes: ['answer'],
        },
      },
      models: [{ node: 'answer', type: 'Generate', guards: [{ node: 'guard', watch: 'message' }], passes: 'all' }],
      tools: [],
      undeclaredTypes: [],
    });
    expect(second?.['tools']).toEqual([
      expect.objectContaining({ node: 'detect', kind: 'declared', name: 'set_light', isNotified: true }),
      expect.objectContaining({ node: 'detect', kind: 'undeclared', name: null, isNotified: true }),
    ]);
  });

  it('reports the errors of an invalid graph as check does, and audits the others', async () => {
    const path = await write('typo.json', JSON.stringify({ start_node: 'a', nodes: { a: { type: 'Generat' } } }));
    const checked = await runCommand(['check', path]);
    const audited = await runCommand(['audit', path, 'missing', 'chat']);
    expect(audited.code).toBe(1);
    expect(audited.err.startsWith(checked.err)).toBe(true);
    expect(audited.err).toContain('missing cannot be read');
    expect(audited.out).toMatch(/^# Audit of chat\n/);
    const { out } = await runCommand(['audit', path, '--json']);
    expect(JSON.parse(out)).toEqual({ file: path, faults: [expect.objectContaining({ pointer: '/nodes/a/type' })] });
  });

  it('writes neither Markdown nor control characters of a graph into the report', async () => {
    const name = 'a``*|<b>\u001b[31m';
    const graph = {
      description: '# <script>*x*</script>\n# Audit of another',
      default_model_name: 'turngraph-demo',
      start_node: name,
      nodes: { [name]: { type: 'Generate' } },
    };
    const path = await write('odd.json', JSON.stringify(graph));
    const { out, err } = await runCommand(['audit', path, '--require', 'answer']);
    expect(out).toContain(String.raw`\# \<script>\*x\*\</script> # Audit of another`);
    expect(out.replaceAll(/ +/g, ' ')).toContain('| ``` a``*\\|<b> [31m ``` | Generate |');
    expect(out + err).not.toContain('\u001b');
  });
});

describe('turngraph draw', () => {
  it('prints a Mermaid flowchart', async () => {
    const { out, code } = await runCommand(['draw', 'graphs/guarded-chat.json']);
    expect(code).toBe(0);
    expect(out).toMatchInlineSnapshot(`
      "flowchart TD
        start(( )) --> n0
        n0["guard<br/><i>Guardrail</i>"]
        n1["refuse<br/><i>CannedResponse</i>"]
        n2["answer<br/><i>Generate</i>"]
        n0 -->|triggered| n1
        n0 -->|not_triggered| n2
        n1 --> done
        n2 --> done
        done((end))
      "
    `);
  });
});

describe('turngraph models list', () => {
  it('lists the models with their status and size', async () => {
    const { out } = await runCommand(['models', 'list', '--json']);
    const models = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly name: string; readonly size_bytes?: number });
    expect(models[0]).toMatchObject({ name: 'turngraph-demo', status: 'LOCAL', tool_call_format: 'chatml' });
    expect(models.filter(({ size_bytes = 0 }) => size_bytes < 1e6)).toEqual([]);
  });

  it('reports invalid entries of the catalogue, and lists the others', async () => {
    const good = { name: 'good', variants: [{ engine: 'llama-cpp', files: ['x.gguf'] }] };
    const path = await write(
      'models.json',
      JSON.stringify({ models: [{ ...good, name: 'bad', engin: 1 }, good, good] }),
    );
    const { out, err, code } = await runCommand(['models', 'list', '--catalogue', path]);
    expect(out).toMatch(/^good {2}ABSENT/m);
    expect(err).toContain(`${path}:1:81: /models/0/engin is not known here`);
    expect(err).toContain(`${path}:1:164: /models/2/name is a duplicate: "good"; the entry at 1:93 is used`);
    expect(code).toBe(0);
  });
});

describe('a file that a command is to read', () => {
  it.each([
    [['tools', 'parse', 'FILE', '--format', 'chatml']],
    [['tools', 'parse', '--template', 'FILE']],
    [['tools', 'render', '--graph', 'chat', '--node', 'answer', '--template', 'FILE', '--message', 'Hello!']],
    [['tools', 'render', '--graph', 'chat', '--node', 'answer', '--history', 'FILE', '--message', 'Hello!']],
    [['run', 'chat', 'Hello!', '--mock-script', 'FILE']],
    [['models', 'list', '--catalogue', 'FILE']],
  ])('is named if it is not there, is a folder, or is not UTF-8: %j', async (args) => {
    const latin = join(folder, 'latin.json');
    await writeFile(latin, Buffer.from('[{"answer": "Grüße"}]', 'latin1'));
    const problems = [
      [join(folder, 'none.json'), 'cannot be read: there is no such file'],
      [folder, 'cannot be read: it is a folder'],
      [latin, 'is not UTF-8; save it as UTF-8'],
    ] as const;
    for (const [file, problem] of problems) {
      const ran = await runCommand(args.map((arg) => (arg === 'FILE' ? file : arg)));
      expect(ran).toMatchObject({ out: '', err: expect.stringContaining(`${file} ${problem}`), code: 1 });
    }
  });
});

describe('turngraph tools parse', () => {
  const call = '<tool_call>{"name": "f", "arguments": {"n": 12345678901234567890}}</tool_call>';

  it('detects the calls in a text', async () => {
    const { out, code } = await runCommand(['tools', 'parse', '--format', 'chatml'], `Now: ${call}`);
    expect(out).toContain('"arguments": {"n": 12345678901234567890}');
    expect(JSON.parse(out)).toMatchObject({
      calls: [{ name: 'f', known: null, repaired: false }],
      residual: 'Now:',
      truncated: false,
    });
    expect(code).toBe(0);
  });

  it('reads one text per line, each with its format', async () => {
    const lines = [
      { format: 'chatml', text: call, tools: ['f'] },
      { format: 'generic', text: '{"tool": "g", "args": {}}', tools: [{ name: 'f' }] },
      { format: 'chatml', text: '<tool_call>{"name": "f", "arg' },
    ];
    const { out } = await runCommand(
      ['tools', 'parse', '--jsonl'],
      lines.map((line) => JSON.stringify(line)).join('\n'),
    );
    expect(jsonLines(out)).toMatchObject([
      { calls: [{ name: 'f', known: true }] },
      { calls: [{ name: 'g', known: false }] },
      { calls: [], truncated: true },
    ]);
  });

  it.each([
    ['no format', ['tools', 'parse'], 'x', 2, '--format or --template is needed'],
    ['a format with a typo', ['tools', 'parse', '--format', 'chatlm'], 'x', 2, 'did you mean "chatml"?'],
    [
      'a line that is no JSON',
      ['tools', 'parse', '--jsonl'],
      '{"format": "chatml", "text": ""}\n{',
      1,
      'line 2 is no JSON',
    ],
  ])('reports %s', async (_, args, input, code, message) => {
    const ran = await runCommand(args, input);
    expect(ran.code).toBe(code);
    expect(ran.err).toContain(message);
  });
});

describe('turngraph', () => {
  it('lists all its commands', async () => {
    const { out, code } = await runCommand(['--help']);
    expect(code).toBe(0);
    for (const command of [
      'serve',
      'chat',
      'run',
      'check',
      'audit',
      'test',
      'record',
      'draw',
      'warm',
      'models',
      'tools',
    ])
      expect(out).toContain(`  ${command} `);
  });

  it('exits with 2 for an unknown command', async () => {
    expect(await runCommand(['srve'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('serve') as unknown,
    });
  });
});
