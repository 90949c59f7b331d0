import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { families, familyGguf } from '../../scripts/gguf/families.mjs';
import { threadCandidates } from '../../src/inference/llama/threads/threadTuner.ts';
import { readCatalogue } from '../../src/inference/models/catalogue/catalogue.ts';
import type { Diagnosis } from '../../src/cli/doctor/diagnose.ts';
import { taggedTemplate, unescapedTemplate } from '../helpers/dialectTemplates.ts';
import { repositoryPath } from '../helpers/server.ts';
import { runCli, useCommandHost } from './command.ts';

const runCommand = useCommandHost();

let folder = '';
const pathOf = (name: string): string => join(folder, name);
const demo = repositoryPath('models/turngraph-demo.gguf');

const variant = (file: string) => ({ engine: 'llama-cpp', local_path: '.', files: [file] });
const entries = [
  { name: 'demo', tool_call_format: 'chatml', default_sampling: { temperature: 0 }, variants: [variant('demo.gguf')] },
  { name: 'lamp', tool_call_format: 'generic', variants: [variant('qwen.gguf')] },
  { name: 'mute', variants: [variant('mute.gguf')] },
  { name: 'search', purpose: 'embedding', embedding: { query_prefix: 'query: ' }, variants: [variant('bert.gguf')] },
  { name: 'absent', variants: [variant('absent.gguf')] },
];

/** A tiny model with the vocabulary of a family, without a chat template. It ends each reply soon. */
function withoutTemplate(family: string): Buffer {
  const vocab = families.get(family)?.vocab;
  if (!vocab) throw new Error(`there is no family ${family}`);
  const letters = [...'Ċabcdefghijklmnopqrstuvwxyz'];
  const next = Object.fromEntries(letters.slice(1).map((letter, index) => [letters[index], letter]));
  return chainGguf({ vocab, next });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-doctor-'));
  const whole = await readFile(demo);
  await copyFile(demo, pathOf('lantern.gguf'));
  await writeFile(pathOf('mute.gguf'), withoutTemplate('Qwen2.5 Instruct'));
  await writeFile(pathOf('bert.gguf'), bertGguf());
  await writeFile(pathOf('qwen.gguf'), familyGguf('Qwen3'));
  await writeFile(pathOf('nemo.gguf'), familyGguf('Mistral Nemo Instruct'));
  await writeFile(pathOf('cut.gguf'), whole.subarray(0, 4_000_000));
  await writeFile(pathOf('beheaded.gguf'), whole.subarray(0, 5000));
  await writeFile(pathOf('wild.gguf'), whole.fill(255, 8, 24));
  await writeFile(pathOf('story.gguf'), 'Once upon a time there was a lamp.');
  await copyFile(demo, pathOf('demo.gguf'));
  await writeFile(pathOf('models.json'), JSON.stringify({ models: entries }));
});
afterAll(() => rm(folder, { recursive: true }));

const flags = () => ['--catalogue', pathOf('models.json'), '--threads', '1', '--slots', '2', '--gpu', 'off'];
const doctor = (...args: readonly string[]) => runCommand(['doctor', ...flags(), ...args]);

const crash = repositoryPath('test/cli/crashingEngine.mjs');

/** The variables with which an engine process crashes at a request. */
const crashingAt = (request: string) => ({
  NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${pathToFileURL(crash).href}`,
  CRASH_AT: request,
});

/** The doctor on an engine process that crashes at a request. */
const crashingDoctor = (request: string, ...args: readonly string[]) =>
  runCommand(['doctor', '--engine-process', 'child', ...args, ...flags()], '', crashingAt(request));

async function diagnose(...args: readonly string[]): Promise<Diagnosis> {
  const { out, err, code } = await doctor('--json', ...args);
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('loading') });
  return JSON.parse(out) as Diagnosis;
}

/** Parses the catalogue entry at the end of the report. */
const parseEntry = (page: string): unknown => JSON.parse(page.slice(page.indexOf('\n{') + 1));

describe('turngraph doctor', () => {
  it('reports what the server does with the bundled model', async () => {
    const { out, err, code } = await runCli(['doctor', ...flags(), 'demo', '--quick']);
    // Values that depend on the machine are replaced by #.
    const withoutNumbers = out
      .replaceAll(folder, '')
      .replaceAll(/(?<=^ {2}(?:weights|free|prefill|decode) +)[\d.,]+ \w+/gm, '#');
    const plan = 'demo needs about 45.4 MB: 11.3 MB of weights, 34.1 MB for 2 slots of 2,048 tokens';
    expect({ code, err }).toEqual({ code: 0, err: `${plan}\nloading demo\nmeasuring prefill and decode speed\n` });
    expect(withoutNumbers).toMatchInlineSnapshot(`
      "demo
      /demo.gguf

      Model
        architecture      llama, 7 layers
        parameters        5.64 million
        quantisation      F16
        size              11.4 MB
        context           2,048 tokens are used, 2,048 were trained

      Prompts
        chat template     the file's own
        system message    supported
        tools             written in our own wording
        detected          none: its chat template knows no tools
        reasoning         <think> ... </think>, [THINK] ... [/THINK]
        tool-call format  chatml (models.json names it)
        BOS token         <|endoftext|>, but not put before prompts
        end tokens        <|im_end|>
        tool tokens       <tool_call> (plain text), </tool_call> (plain text)

      Memory
        weights           #
        slots             34.1 MB for 2 of 2,048 tokens, 14.7 MB each
        free              # before it was loaded

      Speed
        backend           cpu
        threads           1 for decode, 1 for prefill
        prefill           #/s
        decode            #/s

      Tool questions
        not asked (--quick)

      Entry for models.json
      {
        "name": "demo",
        "tool_call_format": "chatml",
        "default_sampling": {
          "temperature": 0
        },
        "variants": [
          {
            "engine": "llama-cpp",
            "local_path": ".",
            "files": [
              "demo.gguf"
            ]
          }
        ]
      }
      "
    `);
    expect(parseEntry(out)).toEqual(entries[0]);
  });

  it.each([
    ['without a models.json', undefined, []],
    ['with a models.json', { models: [] }, []],
    ['named by --catalogue', { models: [] }, ['--catalogue', 'models.json']],
  ])('prints an entry for a bundled model that has its file when pasted, %s', async (_, document, args) => {
    const project = await mkdtemp(join(folder, 'project-'));
    const own = join(project, 'models.json');
    if (document) await writeFile(own, JSON.stringify(document));
    const doctorFlags = ['--quick', '--threads', '1', '--gpu', 'off', ...args];
    const { out } = await runCommand(['doctor', 'turngraph-demo', ...doctorFlags], '', {}, project);
    await writeFile(own, JSON.stringify({ extends: false, models: [parseEntry(out)] }));
    const listed = await runCommand(['models', 'list'], '', {}, project);
    expect(listed).toMatchObject({ out: expect.stringMatching(/^turngraph-demo  LOCAL  /) as unknown, err: '' });
  });

  it('measures for the lists of a server with the same cache folder', async () => {
    const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['demo.gguf'] }];
    const quick = { name: 'quick', min_tokens_per_second: 1e9, variants };
    const hub = { engine: 'llama-cpp', huggingface_repo: 'ann/calm', files: ['calm.gguf'], size_bytes: 1000 };
    const own = { extends: false, models: [quick, { name: 'calm', variants: [{ ...hub, kv_bytes_per_token: 1 }] }] };
    await writeFile(pathOf('quick.json'), JSON.stringify(own));
    const nodes = { a: { type: 'Generate', params: { model_name: ['quick', 'calm'] } } };
    await writeFile(pathOf('graph.json'), JSON.stringify({ start_node: 'a', nodes }));
    const shared = ['--catalogue', pathOf('quick.json'), '--cache', pathOf('cache'), '--gpu', 'off', '--slots', '2'];
    const render = [
      'tools',
      'render',
      '--graph',
      pathOf('graph.json'),
      '--node',
      'a',
      '--message',
      'Hello.',
      ...shared,
    ];
    const check = async () => (await runCommand(['check', pathOf('graph.json'), ...shared])).err;
    expect(await check()).toContain('the list takes the model "quick": it fits in memory');
    expect((await runCommand(render)).err).not.toContain('calm');
    expect(await runCommand(['doctor', 'quick', '--quick', ...shared])).toMatchObject({ code: 0 });
    expect(await check()).toMatch(/"quick": [\d.]+ tokens per second were measured, and its min_tokens_per_second/);
    expect((await runCommand(render)).err).toContain('"calm" is not on disk, so this is our own wording');
    const suggested = await runCommand(['models', 'suggest', ...shared]);
    expect(suggested.out).toMatch(/tokens\/s, measured/);
  });

  // A file that no catalogue names: the tool questions choose its format.
  let lantern: ReturnType<typeof doctor> | undefined;
  const diagnoseLantern = () => (lantern ??= doctor(pathOf('lantern.gguf')));

  it('asks tool questions in each format, unconstrained and strict', async () => {
    const { out, err } = await diagnoseLantern();
    expect(err).toContain('asking 60 tool questions\n');
    const [, rows = ''] = /^Tool questions \(6, of which 1 wants no call\)\n(.*?)\n\n/ms.exec(out) ?? [];
    const [, used = ''] = /^ {2}(\w+) .*<- used$/m.exec(rows) ?? [];
    expect(parseEntry(out)).toMatchObject({ tool_call_format: used });
    expect(
      rows
        .replaceAll(/\d(?= of)/g, '#')
        .replace(/ +<- used$/m, '')
        .split('\n')
        .slice(0, 6),
    ).toEqual([
      '                    free              strict',
      '  chatml            # of 6 right      # of 6 right',
      '  llama3            # of 6 right      # of 6 right',
      '  mistral           # of 6 right      # of 6 right',
      '  generic           # of 6 right      # of 6 right',
      '  react             # of 6 right      # of 6 right',
    ]);
    // The demo model must answer this question right.
    expect(rows).not.toContain('Please turn on the light in the kitchen.');
  });

  it('prints an entry for a file that is valid in a catalogue', async () => {
    const { out } = await diagnoseLantern();
    const entry = parseEntry(out);
    await writeFile(pathOf('pasted.json'), JSON.stringify({ models: [entry] }));
    const { models, problems } = await readCatalogue(pathOf('pasted.json'));
    expect(problems).toEqual([]);
    expect(models.get('lantern')).toMatchObject({
      file: pathOf('lantern.gguf'),
      tool_call_format: expect.stringMatching(/^(?:chatml|llama3|mistral|generic|react)$/),
      default_sampling: { temperature: 0.7, top_p: 1, top_k: 0, min_p: 0.05, repeat_penalty: 1 },
      variants: [{ local_path: '.', files: ['lantern.gguf'], context_size: 2048 }],
    });
    const lamp = JSON.parse(await readFile(repositoryPath('graphs/lamp-switch.json'), 'utf8')) as object;
    await writeFile(pathOf('lamp.json'), JSON.stringify({ ...lamp, default_model_name: 'lantern' }));
    const message = 'Please turn on the porch light.';
    const result = await runCommand([
      'run',
      pathOf('lamp.json'),
      message,
      '--catalogue',
      pathOf('pasted.json'),
      '--threads',
      '1',
    ]);
    expect(JSON.parse(result.out.split('\n')[0] ?? '')).toMatchObject({
      toolCallNotification: { toolName: 'set_light', typedArgumentsJson: '{"name": "porch", "on": true}' },
    });
  });

  it('check names a model without a template, and what to use instead', async () => {
    const graph = { start_node: 'a', nodes: { a: { type: 'Generate', params: { model_name: 'mute' } } } };
    await writeFile(pathOf('mute-graph.json'), JSON.stringify(graph));
    const result = await runCommand(['check', pathOf('mute-graph.json'), '--catalogue', pathOf('models.json')]);
    expect(result).toMatchObject({ code: 0, out: `${pathOf('mute-graph.json')}: ok\n` });
    expect(result.err).toMatch(/warning: the model "mute": the file has no chat template: .* "-Instruct"/);
  });

  it('prints the whole report as JSON, for a model without a template as well', async () => {
    const { model, trials, format, toolDialect, replyMarks, speed, notes, entry, ...rest } = await diagnose(
      pathOf('mute.gguf'),
    );
    expect(rest).toEqual({
      name: 'mute 2',
      files: [pathOf('mute.gguf')],
      bytes: withoutTemplate('Qwen2.5 Instruct').length,
      contextSize: 2048,
      stats: { backend: 'cpu', gpuLayers: 0, threads: 1, prefillThreads: 1, slots: 2 },
    });
    expect(model).toMatchObject({
      architecture: 'llama',
      layers: 1,
      quantisation: 'F32',
      template: {
        fallback: { reason: 'the file has no chat template', layout: 'ChatML' },
        system: 'anywhere',
        supportsTools: false,
      },
      tokens: { bos: '<|endoftext|>', addsBos: false, eog: ['<|im_end|>', '<|endoftext|>'] },
      memory: { weights: { vram: 0 }, slots: { vram: 0 }, free: { vram: 0 } },
      cards: [],
      threadBenchmarks: [],
    });
    expect([toolDialect.format, format.name, format.isFound]).toEqual([null, 'chatml', false]);
    expect(replyMarks.reasoning.map(({ open }) => open)).toEqual(['<think>', '[THINK]']);
    expect([speed.prefillPerSecond, speed.decodePerSecond].every((rate) => Number(rate) > 0)).toBe(true);
    expect(trials?.map((trial) => [trial.format, trial.free.length, trial.strict?.length])).toEqual([
      ['chatml', 6, 6],
      ['llama3', 6, 6],
      ['mistral', 6, 6],
      ['generic', 6, 6],
      ['react', 6, 6],
    ]);
    expect(notes).toEqual([
      'the file has no chat template, so prompts are written as ChatML',
      expect.stringContaining('a base model'),
      'models.json has this file already, as "mute"',
    ]);
    await writeFile(pathOf('one.json'), JSON.stringify({ models: [entry] }));
    const { models, problems } = await readCatalogue(pathOf('one.json'));
    expect([problems, models.get('mute 2')?.tool_call_format]).toEqual([[], '']);
  });

  it.each([
    ['qwen.gguf', 'chatml', 'word'],
    ['nemo.gguf', 'mistral', 'control'],
  ])('reports the format that the chat template of %s proves', async (file, format, kind) => {
    const { model, toolDialect, entry, trials } = await diagnose(pathOf(file), '--quick');
    expect([toolDialect.format, trials]).toEqual([format, null]);
    expect(entry).toMatchObject({ tool_call_format: format });
    expect(model.tokens.toolTokens[format]?.map((mark) => mark.kind)).toEqual(
      model.tokens.toolTokens[format]?.map(() => kind),
    );
  });

  /** The sections between the prompts and the memory. */
  const promptsOf = (page: string): string => page.slice(page.indexOf('Prompts'), page.indexOf('\nMemory'));

  it('shows the notation and the marks of a layout that proved itself, and its limits', async () => {
    await writeFile(pathOf('tagged.gguf'), familyGguf('Qwen3', { chatTemplate: taggedTemplate }));
    const { out } = await doctor(pathOf('tagged.gguf'), '--quick');
    expect(promptsOf(out)).toMatchInlineSnapshot(`
      "Prompts
        chat template     the file's own
        system message    supported
        tools             written by the chat template
        detected          native: its chat template has a layout of its own, which proved itself
        notation          tagged
        a call            <act>
                          <do=<function-name>>
                          <with=<argument-name>>
                          <value>
                          </with>
                          </do>
                          </act>
        probes            26 of 27 are ok
        reasoning         <muse> ... </muse>, <think> ... </think>, [THINK] ... [/THINK]
        tool-call format  native (its chat template has a layout of its own, which proved itself)
        BOS token         <|endoftext|>, but not put before prompts
        end tokens        <|im_end|>, <|endoftext|>
        tool tokens       <act> (plain text), </do> (plain text), </act> (plain text), </with> (plain text)

      Limits: the format is used all the same
        - a string with "</with>": is refused by the grammar: "<act>\\n<do=lamp_zq_tool>\\n<with=alpha_zq>\\nZqword </with> twelve\\n</with>\\n</do>\\n</act><|end|>\\n"
      "
    `);
  });

  it('shows the probes for which a format is not used', async () => {
    await writeFile(pathOf('unescaped.gguf'), familyGguf('Qwen3', { chatTemplate: unescapedTemplate }));
    const { out } = await doctor(pathOf('unescaped.gguf'), '--quick');
    const prompts = promptsOf(out);
    expect(prompts).toContain('tool-call format  chatml (nothing names or proves another)');
    expect(prompts).toContain('Failed probes: the format is not used\n  - a string with quotes: is read as no call');
    expect(prompts).toContain('Other probes that failed\n  - a string with a backslash');
  });

  it('reports the speed of each number of threads that it benchmarked', async () => {
    const { model } = await diagnose('lamp', '--quick', '--threads', '0');
    const cores = availableParallelism();
    expect(model.threadBenchmarks.map(({ threads }) => threads)).toEqual(cores === 1 ? [] : threadCandidates(cores));
    expect(model.threadBenchmarks.every(({ tokensPerSecond }) => tokensPerSecond > 0)).toBe(true);
  });

  it('warns of a catalogue that contradicts its model', async () => {
    const { out } = await doctor('lamp', '--quick');
    expect(out).toContain('models.json names generic, but the model was trained on chatml');
    expect(out).toContain('Tool questions\n  not asked (--quick)\n');
  });

  // A damaged file may end the process that loads it; the others are refused before that.
  it.each([
    ['cut.gguf', 'child', 'cannot be loaded (Failed to load model): the file is damaged, cut short'],
    ['beheaded.gguf', 'in', 'it ends in the middle of its header: download it again'],
    ['wild.gguf', 'child', 'download it again'],
    ['story.gguf', 'in', 'it is no GGUF file'],
    ['.', 'in', 'it is no file'],
  ])('rejects the file %s with a one-line error', async (file, place, why) => {
    const { out, err, code } = await doctor(pathOf(file), '--engine-process', place);
    expect({ out, code }).toEqual({ out: '', code: 1 });
    // The header of a file that is cut short says what the whole file would need.
    expect(err).toMatch(/^(?:cut needs about .+\n)?error: MODEL_LOAD_FAILED \(6009\): .+\n$/);
    expect(err).toContain(why);
  });

  const damage = 'the file is damaged, or its model needs more memory than there is';

  it('reports a file that crashes llama.cpp while it answers with a one-line error', async () => {
    const { out, err, code } = await crashingDoctor('generate', pathOf('demo.gguf'), '--quick');
    expect({ out, code }).toEqual({ out: '', code: 1 });
    const why = `was loaded, but cannot answer: the engine process ended with SIGSEGV: ${damage}`;
    expect(err.split('\n').slice(-2)[0]).toBe(`error: ENGINE_CRASHED (4005): ${pathOf('demo.gguf')} ${why}`);
  });

  it('reports a crash in the middle of the tool questions, instead of grading the answer', async () => {
    const { out, err, code } = await crashingDoctor('generate:10', pathOf('demo.gguf'));
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toContain('asking 60 tool questions\n');
    expect(err).toContain('error: ENGINE_CRASHED (4005)');
  });

  it('reports a model that was given up after crashes, instead of a speed that is not measured', async () => {
    const { out, err, code } = await crashingDoctor('generate:1:unread', pathOf('demo.gguf'), '--quick');
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toMatch(/error: MODEL_LOAD_FAILED \(6009\): .* its engine process has crashed 3 times/);
  });

  it('runs a model in its own process, unless told otherwise: a crash at the load is a one-line error', async () => {
    const args = [pathOf('demo.gguf'), '--quick'];
    const crashed = await runCli(['doctor', ...args, ...flags()], '', crashingAt('load'));
    expect(crashed).toMatchObject({ out: '', code: 1 });
    const why = `cannot be loaded: the engine process ended with SIGSEGV: ${damage}; download it again, or use a smaller one`;
    expect(crashed.err.split('\n').slice(-2)[0]).toBe(`error: MODEL_LOAD_FAILED (6009): ${pathOf('demo.gguf')} ${why}`);
    const { out, err, code } = await crashingDoctor('load', ...args, '--engine-process', 'in');
    expect({ err, code }).toEqual({ err: expect.stringContaining('loading'), code: 0 });
    expect(out).toContain('Speed\n  backend           cpu\n');
  });

  it('reports the vectors of an embedding model, of which the header of its file tells, and prints an entry', async () => {
    const { out, code } = await doctor(pathOf('bert.gguf'));
    expect(code).toBe(0);
    expect(out).toContain('purpose           embedding: it generates no text');
    expect(out).toContain('vectors           32 numbers');
    expect(out).toContain('query prefix      none');
    const entry = parseEntry(out);
    expect(entry).toEqual({
      name: 'bert',
      purpose: 'embedding',
      variants: [{ engine: 'llama-cpp', local_path: '.', files: ['bert.gguf'], context_size: 64 }],
    });
    await writeFile(pathOf('printed.json'), JSON.stringify({ models: [entry] }));
    expect((await readCatalogue(pathOf('printed.json'))).problems).toEqual([]);
    const listed = await doctor('search', '--json');
    expect(JSON.parse(listed.out)).toMatchObject({
      name: 'search',
      dimensions: 32,
      prefixes: { query: 'query: ', document: '' },
      entry: { embedding: { query_prefix: 'query: ' } },
    });
  });

  it('reports a path that does not exist as an absolute path', async () => {
    const { err, code } = await doctor('nofile.gguf');
    expect(err).toBe(`error: MODEL_NOT_ON_DISK (6008): there is no file ${repositoryPath('nofile.gguf')}\n`);
    expect(code).toBe(1);
  });

  it.each([
    ['a name with a typo', 'lmap', 2, 'did you mean "lamp"?'],
    ['a name that is unlike any other', 'whisper', 2, 'turngraph models list'],
    ['a model that is not on disk', 'absent', 1, 'MODEL_NOT_ON_DISK (6008)'],
    ['a path that does not exist', './lamp.gguf', 1, 'there is no file'],
  ])('rejects %s', async (_, name, expected, why) => {
    const { out, err, code } = await doctor(name);
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});
