import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { runs } from './command.ts';

let folder = '';
const at = (name: string): string => join(folder, name);

const variant = (file: string) => ({ engine: 'llama-cpp', local_path: '.', files: [file] });
const models = [
  { name: 'qwen', variants: [variant('qwen.gguf')] },
  { name: 'nemo', tool_call_format: 'chatml', variants: [variant('nemo.gguf')] },
  { name: 'absent', tool_call_format: 'mistral', variants: [variant('absent.gguf')] },
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
  },
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-render-'));
  await writeFile(at('qwen.gguf'), familyGguf('Qwen3'));
  await writeFile(at('nemo.gguf'), familyGguf('Mistral Nemo Instruct'));
  await mkdir(at('store/ann/fetched'), { recursive: true });
  await writeFile(at('store/ann/fetched/fetched.gguf'), familyGguf('Qwen3'));
  await writeFile(at('models.json'), JSON.stringify({ models }));
  await writeFile(at('graph.json'), JSON.stringify(graph));
});
afterAll(() => rm(folder, { recursive: true }));

const render = (...args: readonly string[]) =>
  runs([
    'tools',
    'render',
    '--catalogue',
    at('models.json'),
    '--graph',
    at('graph.json'),
    '--message',
    'Shine!',
    ...args,
  ]);

describe('turngraph tools render', () => {
  it("writes the prompt with the model's own template", async () => {
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
      ",
        "out": "<s>[AVAILABLE_TOOLS][{"type": "function", "function": {"name": "set_light", "description": "Turn it on.", "parameters": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}][/AVAILABLE_TOOLS][INST]You are a lamp.

      Shine![/INST]",
      }
    `);
  });

  it('writes our own wording where the format is not the one of the model, and warns of it', async () => {
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

  it("writes our own wording in ChatML where the graph's model is not on disk", async () => {
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

  it("takes the model of the node, and shows a node's prompt without tools too", async () => {
    const { out, err } = await render('--node', 'answer');
    expect({ out, err }).toEqual({ out: '<|im_start|>user\nShine!<|im_end|>\n<|im_start|>assistant\n', err: '' });
  });

  it.each([
    ['a model that is not on disk', ['--node', 'detect', '--model', 'absent'], 1, '"absent" is not on disk'],
    ['a node with a typo', ['--node', 'detct'], 2, 'did you mean "detect"?'],
    ['a node without a model', ['--node', 'other'], 1, '"other" asks no model'],
    ['a format with a typo', ['--node', 'detect', '--format', 'chatlm'], 1, 'chatml'],
    ['no node', [], 2, '--node'],
  ])('refuses %s', async (_, args, expected, why) => {
    const { out, err, code } = await render(...args);
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});

describe('turngraph tools formats', () => {
  const formats = (...args: readonly string[]) =>
    runs(['tools', 'formats', '--catalogue', at('models.json'), '--model', ...args]);

  it('says which format a model gets, and who says so', async () => {
    expect((await formats('qwen')).out).toMatchInlineSnapshot(`
      "qwen: chatml (read off the model)
          a node       comes first, if its tool_call_format names one
          models.json  names none
          the model    chatml
          otherwise    chatml
      "
    `);
    expect((await formats('nemo')).out).toMatchInlineSnapshot(`
      "nemo: chatml (models.json names it)
          a node       comes first, if its tool_call_format names one
          models.json  chatml
          the model    mistral
          otherwise    chatml
      "
    `);
    expect((await formats('absent')).out).toMatchInlineSnapshot(`
      "absent: mistral (models.json names it)
          a node       comes first, if its tool_call_format names one
          models.json  mistral
          the model    is not on disk
          otherwise    chatml
      "
    `);
  });

  it('prints a line of JSON when asked to', async () => {
    const { out } = await formats('nemo', '--json');
    expect(JSON.parse(out)).toEqual({
      model: 'nemo',
      format: 'chatml',
      because: 'models.json names it',
      named: 'chatml',
      detected: 'mistral',
    });
  });

  it('looks at what was downloaded where the file of the user is not there', async () => {
    const { out } = await formats('fetched', '--models', at('store'), '--json');
    expect(JSON.parse(out)).toMatchObject({ format: 'chatml', detected: 'chatml' });
  });

  it('refuses a model with a typo', async () => {
    const { err, code } = await formats('qwn');
    expect(err).toContain('did you mean "qwen"?');
    expect(code).toBe(2);
  });
});
