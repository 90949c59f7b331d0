import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
let folder = '';
const pathOf = (name: string): string => join(folder, name);

const variant = (file: string) => ({ engine: 'llama-cpp', local_path: '.', files: [file] });
const models = [
  { name: 'qwen', variants: [variant('qwen.gguf')] },
  { name: 'nemo', tool_call_format: 'chatml', variants: [variant('nemo.gguf')] },
  { name: 'absent', tool_call_format: 'mistral', variants: [variant('absent.gguf')] },
  { name: 'cut', variants: [variant('cut.gguf')] },
  { name: 'fetched', variants: [{ ...variant('fetched.gguf'), huggingface_repo: 'ann/fetched' }] },
];
const tools = [{ name: 'set_light', description: 'Turn it on.', parameters: [{ name: 'on', type: 'boolean' }] }];
const graph = {
  default_model_name: 'absent',
  start_node: 'other',
  nodes: {
    other: { type: 'Guardrail', params: { inline_strings: ['x'] }, exits: { triggered: 'detect' } },
    detect: { type: 'ToolCall', params: { system_prompt: 'You are {{who}}.', tools }, exits: { tool_called: 'other' } },
    answer: { type: 'Generate', params: { model_name: 'qwen' } },
    lamps: {
      type: 'Retrieve',
      params: { inline_strings: ['It shines at night.', 'A moth.', 'A fly.'] },
      exits: { found: 'tell' },
    },
    similar: {
      type: 'Retrieve',
      params: { inline_strings: ['x'], match: 'vectors', embedding_model: 'absent' },
      exits: { found: 'tell' },
    },
    tell: {
      type: 'Generate',
      params: {
        model_name: ['absent', 'cut', 'qwen'],
        template: '{{#knowledge_lamps}}{{text}}{{/knowledge_lamps}}{{#knowledge_similar}}x{{/knowledge_similar}}',
      },
    },
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-render-'));
  await writeFile(pathOf('qwen.gguf'), familyGguf('Qwen3'));
  await writeFile(pathOf('nemo.gguf'), familyGguf('Mistral Nemo Instruct'));
  await writeFile(pathOf('cut.gguf'), 'GGUF');
  await mkdir(pathOf('store/ann/fetched'), { recursive: true });
  await writeFile(pathOf('store/ann/fetched/fetched.gguf'), familyGguf('Qwen3'));
  await writeFile(pathOf('models.json'), JSON.stringify({ models }));
  await writeFile(pathOf('graph.json'), JSON.stringify(graph));
});
afterAll(() => rm(folder, { recursive: true }));

const render = (...args: readonly string[]) =>
  runCommand([
    'tools',
    'render',
    '--catalogue',
    pathOf('models.json'),
    '--graph',
    pathOf('graph.json'),
    '--message',
    'Shine!',
    ...args,
  ]);

describe('turngraph tools render', () => {
  it("prints the prompt in the model's own chat template", async () => {
    const { out, err, code } = await render(
      '--node',
      'detect',
      '--model',
      'nemo',
      '--format',
      'mistral',
      '--var',
      'who=a lamp',
    );
    expect({ out, err, code }).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": "warning: the model "nemo": the model's chat template supports a system message only at the start: later ones are written as user messages
      warning: the model "nemo": the model's chat template leaves the system message out of prompts that end with results of calls
      ",
        "out": "<s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "set_light", "description": "Turn it on.", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}][/AVAILABLE_TOOLS][INST]You are a lamp.

      Shine![/INST]",
      }
    `);
  });

  it('prints the built-in tool prompt for another format than that of the model, with a warning', async () => {
    const { out, err, code } = await render('--node', 'detect', '--model', 'qwen', '--format', 'generic');
    expect({ out, code }).toMatchInlineSnapshot(`
      {
        "code": 0,
        "out": "<|im_start|>system
      You are .

      You can call tools. To call one, reply with only {"tool": "<name>", "args": {...}}.

      Tools:
      - set_light(on: boolean): Turn it on.<|im_end|>
      <|im_start|>user
      Shine!<|im_end|>
      <|im_start|>assistant
      ",
      }
    `);
    expect(err).toContain('the model was trained on chatml');
  });

  it("prints the built-in tool prompt in ChatML when the graph's model is not on disk", async () => {
    const { out, err, code } = await render('--node', 'detect', '--var', 'who=a lamp');
    expect({ out, err, code }).toMatchInlineSnapshot(`
      {
        "code": 0,
        "err": ""absent" is not on disk, so this is our own wording in ChatML
      ",
        "out": "<|im_start|>system
      You are a lamp.<|im_end|>
      <|im_start|>user
      [AVAILABLE_TOOLS] [{"type": "function", "function": {"name": "set_light", "description": "Turn it on.", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}][/AVAILABLE_TOOLS]

      Shine!<|im_end|>
      <|im_start|>assistant
      ",
      }
    `);
  });

  it('uses the model of the node, and prints the prompt of a node without tools too', async () => {
    const { out, err } = await render('--node', 'answer');
    expect({ out, err }).toEqual({ out: '<|im_start|>user\nShine!<|im_end|>\n<|im_start|>assistant\n', err: '' });
  });

  it('prints the prompt of a later turn with --history', async () => {
    const result = {
      call_id: 'k3J9x2Qwe',
      name: 'set_light',
      arguments_json: '{"on": true}',
      ok: true,
      content: 'lit',
    };
    const history = [
      { user: 'Hello.', assistant: 'Good evening.' },
      { user: 'Light!', assistant: '', spoken: 'It shines.', results: [result], variables: { place: 'hall' } },
    ];
    const saved = history.map((turn) => ({ ...turn, agent: { mode: 'MANUAL' } }));
    await writeFile(pathOf('history.json'), JSON.stringify(saved));
    const { out, err } = await render('--node', 'answer', '--history', pathOf('history.json'));
    expect({ out, err }).toMatchInlineSnapshot(`
      {
        "err": "",
        "out": "<|im_start|>user
      Hello.<|im_end|>
      <|im_start|>assistant
      Good evening.<|im_end|>
      <|im_start|>user
      Light!<|im_end|>
      <|im_start|>system
      Result of set_light {"on": true}: lit<|im_end|>
      <|im_start|>assistant
      It shines.<|im_end|>
      <|im_start|>user
      Shine!<|im_end|>
      <|im_start|>assistant
      ",
      }
    `);
  });

  it('prints what Retrieve nodes before it find without a model', async () => {
    expect(await render('--node', 'tell')).toEqual({
      out: expect.stringContaining('It shines at night.<|im_end|>\n<|im_start|>user\nShine!') as string,
      err: 'warning: "similar" does not run here, because it needs a model: the prompt has nothing of it\n',
      code: 0,
    });
  });

  it('prints the warnings of the turn', async () => {
    const { err } = await render('--node', 'detect', '--model', 'qwen');
    expect(err).toContain('warning: detect.params.system_prompt names {{who}}, which this turn does not have');
  });

  it('says how much of a long history is left out', async () => {
    await writeFile(pathOf('long.json'), JSON.stringify(Array(600).fill({ user: 'Hello.', assistant: 'Hi.' })));
    const { err } = await render('--node', 'answer', '--history', pathOf('long.json'));
    expect(err).toMatch(/^warning: the prompt leaves out the oldest \d+ interactions$/m);
  });

  it.each([
    ['{', 'is not valid JSON'],
    ['', 'is empty: leave it out, or give "[]"'],
    ['[{"user": "Hello."}]', '[0].assistant is missing'],
    ['[{"user": "Hello.", "asistant": "Hi.", "assistant": ""}]', '[0].asistant is not known here'],
    ['{"user": "Hello.", "assistant": ""}', 'must be an array'],
  ])('rejects the history %s', async (text, why) => {
    await writeFile(pathOf('bad.json'), text);
    const { out, err, code } = await render('--node', 'answer', '--history', pathOf('bad.json'));
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain(`bad.json: history`);
    expect(err).toContain(why);
  });

  it.each([
    ['a history that is not there', ['--node', 'answer', '--history', 'nowhere.json'], 1, 'nowhere.json'],
    ['a model that is not on disk', ['--node', 'detect', '--model', 'absent'], 1, '"absent" is not on disk'],
    ['a node with a typo', ['--node', 'detct'], 2, 'did you mean "detect"?'],
    ['a node without a model', ['--node', 'other'], 1, '"other" asks no model'],
    ['a format with a typo', ['--node', 'detect', '--format', 'chatlm'], 1, 'chatml'],
    ['no node', [], 2, '--node'],
  ])('rejects %s', async (_, args, expected, why) => {
    const { out, err, code } = await render(...args);
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});

describe('turngraph tools formats', () => {
  const formats = (...args: readonly string[]) =>
    runCommand(['tools', 'formats', '--catalogue', pathOf('models.json'), '--model', ...args]);

  // Without the probes.
  const textOf = (out: string): string => out.split('\nProbes')[0] ?? '';

  it('reports which format a model gets, and why', async () => {
    expect(textOf((await formats('qwen')).out)).toMatchInlineSnapshot(`
      "qwen: chatml (its chat template proves it)
          a node       comes first, if its tool_call_format names one
          models.json  names none
          the model    chatml
          otherwise    chatml
          notation     json
          a call       <tool_call>
                       {"name": "<function-name>", "arguments": {"<argument-name>": "<value>"}}
                       </tool_call>
          reasoning    <think> ... </think>, [THINK] ... [/THINK]
      "
    `);
    expect(textOf((await formats('nemo')).out)).toMatchInlineSnapshot(`
      "nemo: chatml (models.json names it)
          a node       comes first, if its tool_call_format names one
          models.json  chatml
          the model    mistral
          otherwise    chatml
          notation     json
          a call       [TOOL_CALLS][{"name": "<function-name>", "arguments": {"<argument-name>": "<value>"}, "id": "a1b2c3d4e"}]
          reasoning    <think> ... </think>, [THINK] ... [/THINK]
      "
    `);
    expect((await formats('absent')).out).toMatchInlineSnapshot(`
      "absent: mistral (models.json names it)
          a node       comes first, if its tool_call_format names one
          models.json  mistral
          the model    it is not on disk
          otherwise    chatml
      "
    `);
  });

  it('prints a line of JSON with --json', async () => {
    const { out } = await formats('nemo', '--json');
    expect(JSON.parse(out)).toEqual({
      model: 'nemo',
      format: 'chatml',
      notation: 'json',
      proved: false,
      because: 'models.json names it',
      probes: expect.arrayContaining([{ name: 'one call', required: true, ok: true, why: '' }]),
      named: 'chatml',
      detected: 'mistral',
    });
  });

  it('reads the downloaded file when there is no local one', async () => {
    const { out } = await formats('fetched', '--models', pathOf('store'), '--json');
    expect(JSON.parse(out)).toMatchObject({ format: 'chatml', detected: 'chatml' });
  });

  it('rejects a model with a typo', async () => {
    const { err, code } = await formats('qwn');
    expect(err).toContain('did you mean "qwen"?');
    expect(code).toBe(2);
  });
});
