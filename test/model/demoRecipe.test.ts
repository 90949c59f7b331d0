import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getLlama, LlamaLogLevel, type Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blockFor, callText, formatNames, promptText } from '../../scripts/demo-model/generate/prompts.mjs';
import { createVocabulary } from '../../scripts/demo-model/generate/tokenizer.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import type { Message } from '../../src/chat/dialog.ts';
import { formats } from '../../src/chat/formats/index.ts';
import { checkRequirement, findPython, isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath } from '../helpers/server.ts';
import { openDemo, type Demo } from './demo.ts';

const recipe = 'scripts/demo-model';
const learntVocabulary = JSON.parse(await readFile(repositoryPath(`${recipe}/vocabulary.json`), 'utf8'));

describe('the text that the demo model learns from', () => {
  let demo: Demo;
  beforeAll(async () => void (demo = await openDemo()));
  afterAll(() => demo.close());

  const tools = [{ name: 'set_light', description: 'Turn a light.', parameters: [{ name: 'on', type: 'boolean' }] }];
  const messages: Message[] = [
    { role: 'system', text: 'You are a lamp.' },
    { role: 'user', text: 'Hello' },
    { role: 'assistant', text: 'Good evening.' },
    { role: 'user', text: 'Too dark here.' },
  ];

  it.each(formatNames)('has the prompts of the server in %s', (format) => {
    const block = blockFor(tools, format);
    expect(promptText(messages, block)).toBe(demo.renderer.render({ messages, tools: block }).text);
  });

  it.each(formatNames)('has calls that the server detects in %s', (format) => {
    const calls = [
      { name: 'set_light', arguments: { on: true } },
      { name: 'say', arguments: { text: 'a "quoted" word', loud: false } },
    ];
    const detected = formats.get(format)?.detect(callText(format, calls));
    expect(detected?.calls.map(({ name, arguments: args }) => ({ name, arguments: Object.fromEntries(args) }))).toEqual(
      calls,
    );
    expect(detected?.residual).toBe('');
  });

  it('is tokenized as by the model file, whatever the text', () => {
    const { encode } = createVocabulary(learntVocabulary);
    const chance = createRng(5);
    const pieces = [
      () => String.fromCodePoint(chance.below(0x80)),
      () => String.fromCodePoint(0x80 + chance.below(0x700)),
      () => String.fromCodePoint(0x1f300 + chance.below(0x300)),
      () =>
        chance.pick([
          'the ',
          'Kitchen',
          'porch light',
          '  ',
          '\n\n',
          '\r\n',
          '12',
          "n't",
          '\u00a0',
          '\u200d',
          '日本',
          '²',
        ]),
      () => chance.pick<string>(learntVocabulary.phrases),
      () => chance.pick<string>(learntVocabulary.phrases).slice(chance.below(6), 3 + chance.below(12)),
      () => chance.pick(['<|im_start|>', '<|im_end|>', '<|endoftext|>']),
    ];
    for (let count = 0; count < 10_000; count++) {
      const text = Array.from({ length: 1 + chance.below(24) }, () => chance.pick(pieces)()).join('');
      expect(encode(text), JSON.stringify(text)).toEqual(demo.weights.tokenize(text, true));
    }
  });
});

const run = promisify(execFile);
const node = (script: string, ...args: readonly string[]) =>
  run(process.execPath, [repositoryPath(`${recipe}/${script}`), ...args]);

describe('the evaluation of the demo model', () => {
  it.each([
    ['--formats', 'chatml,chatlm', '--formats knows chatml, llama3, mistral, generic, react, not "chatlm"'],
    ['--mode', 'stric', '--mode knows free, strict, not "stric"'],
  ])('rejects %s %s, and lists the valid values', async (option, value, sentence) => {
    const failure = node('evaluate.mjs', option, value);
    await expect(failure).rejects.toMatchObject({ code: 2, stderr: `${sentence}\n` });
  });

  it('reports how many turns failed', async () => {
    const { stderr } = await node('evaluate.mjs', '--model', 'nowhere.gguf', '--formats', 'chatml', '--limit', '2');
    expect(stderr).toMatch(/^chatml: 2 turns failed, the first with: .*nowhere\.gguf/);
  });
});

const python = findPython('torch', 'numpy') ?? 'python3';

describe.skipIf(isSkipped('demoModelRecipe'))('the recipe of the demo model', () => {
  let folder = '';
  beforeAll(async () => {
    checkRequirement('demoModelRecipe');
    folder = await mkdtemp(join(tmpdir(), 'turngraph-recipe-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  interface Step {
    readonly args: readonly [script: string, ...string[]];
    readonly input?: string;
  }

  const train = (script: string, ...args: readonly string[]): Step => ({ args: [script, ...args] });

  it('produces a model file that answers like the trained network', async () => {
    const [vocabulary, corpus, runs, tensors, file] = ['words.json', 'corpus', 'run', 'tensors', 'tiny.gguf'].map(
      (name) => join(folder, name),
    ) as [string, string, string, string, string];
    await node('vocabulary.mjs', '--documents', '100', '--out', vocabulary);
    await node('corpus.mjs', '--out', corpus, '--tokens', '60000', '--vocabulary', vocabulary);
    const shape = [
      '--width',
      '64',
      '--heads',
      '1',
      '--layers',
      '2',
      '--hidden',
      '64',
      '--batch',
      '2304',
      '--workers',
      '1',
    ];
    const script = repositoryPath(`${recipe}/train/train.py`);
    const { stdout } = await run(python, [script, '--corpus', corpus, '--out', runs, ...shape]);
    expect(stdout).toMatch(/"held_loss": [0-7]\./);
    await runScripts(train('tensors.py', '--run', runs, '--corpus', corpus, '--out', tensors));
    await node('export.mjs', '--tensors', tensors, '--corpus', corpus, '--out', file);

    const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
    const weights = await llama.loadModel({ modelPath: file });
    const context = await weights.createContext({ contextSize: 512, threads: 1 });
    const sequence = context.getSequence();
    const prompts = ['Turn on the light', 'How are you?', 'Play some music'].map((text) =>
      weights.tokenize(promptText([{ role: 'user', text }]), true),
    );
    const answers: Token[][] = [];
    for (const prompt of prompts) {
      const answer: Token[] = [];
      await sequence.clearHistory();
      for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
        if (weights.isEogToken(token) || answer.push(token) === 20) break;
      }
      answers.push(answer);
    }
    await llama.dispose();

    const [again, deeper, more] = ['again', 'deeper', 'more'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const generate = (of: string): Step => ({
      args: ['generate.py', '--run', of, '--corpus', corpus, '--longest', '20'],
      input: prompts.map((prompt) => `${JSON.stringify(prompt)}\n`).join(''),
    });
    const outputs = await runScripts(
      generate(runs),
      // The file can be trained on.
      train('read_gguf.py', '--file', file, '--corpus', corpus, '--out', again),
      generate(again),
      // A layer that is inserted changes nothing until it is trained.
      train('insert_layer.py', '--run', again, '--at', '1', '--out', deeper),
      generate(deeper),
      train('train.py', '--corpus', corpus, '--out', more, ...shape, '--begin', `${again}/weights.pt`),
    );
    const generated = [outputs[0], outputs[2], outputs[4]].map((lines = '') =>
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    );
    expect(generated).toEqual([answers, answers, answers]);
  });

  it('resumes from the checkpoint that has seen most tokens', async () => {
    const checkpoint = await runPython(`import json, sys, torch
from checkpoint import latest_checkpoint
for name, seen in (("weights", 5), ("checkpoint", 9)):
    torch.save({"seen": seen}, f"{sys.argv[1]}/{name}.pt")
print(json.dumps(latest_checkpoint(sys.argv[1])))`);
    expect(checkpoint.result).toEqual({ seen: 9 });
    expect(checkpoint.log).toContain('checkpoint.pt: 9 tokens seen');
  });

  it('places its initial circuits in the existing layers, and has kernels for some shapes', async () => {
    const { result } = await runPython(`import json
from model import SHAPE, Vocabulary, fresh
from ops import kernels_fit
others = ({}, {"layers": 3}, {"layers": 1}, {"heads": 8}, {"heads": 32}, {"width": 192}, {"hidden": 48})
shapes = [{**SHAPE, **other} for other in others]
weights = [len(fresh(shape, Vocabulary([[0, 0, 0]]), 1)) for shape in shapes]
print(json.dumps({"weights": weights, "fit": [kernels_fit(shape) for shape in shapes]}))`);
    expect(result).toEqual({
      weights: [39, 21, 9, 39, 39, 39, 39],
      fit: [true, true, true, false, false, false, false],
    });
  });

  /** Runs Python code in the folder of the training scripts. Returns its output, parsed as JSON, and its log. */
  async function runPython(script: string): Promise<{ result: unknown; log: string }> {
    const { stdout, stderr } = await run(python, ['-c', script, folder], { cwd: repositoryPath(`${recipe}/train`) });
    return { result: JSON.parse(stdout), log: stderr };
  }

  /**
   * Runs scripts one after the other in one process, which imports PyTorch once. Returns what each has printed. `train.py` would
   * start itself again without the variable.
   */
  async function runScripts(...steps: readonly Step[]): Promise<readonly string[]> {
    const program = `import contextlib, io, json, runpy, sys
outputs = []
for step in json.loads(sys.argv[1]):
    sys.argv, sys.stdin = step["args"], io.StringIO(step.get("input", ""))
    with contextlib.redirect_stdout(io.StringIO()) as output:
        runpy.run_path(step["args"][0], run_name="__main__")
    outputs.append(output.getvalue())
print(json.dumps(outputs))`;
    const cwd = repositoryPath(`${recipe}/train`);
    const env = { ...process.env, MALLOC_MMAP_MAX_: '0', OMP_NUM_THREADS: '1' };
    const { stdout } = await run(python, ['-c', program, JSON.stringify(steps)], { cwd, env });
    return JSON.parse(stdout) as readonly string[];
  }
});
