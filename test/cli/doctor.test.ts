import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { families, familyGguf } from '../../scripts/gguf/families.mjs';
import { tinyGguf } from '../../scripts/gguf/gguf.mjs';
import { threadCandidates } from '../../src/engine/llama/threads/threadTuner.ts';
import { readCatalogue } from '../../src/models/catalogue/catalogue.ts';
import type { Diagnosis } from '../../src/models/doctor/diagnose.ts';
import { repositoryPath } from '../helpers/server.ts';
import { runs } from './command.ts';

let folder = '';
const at = (name: string): string => join(folder, name);
const demo = repositoryPath('models/turngraph-demo.gguf');

const variant = (file: string) => ({ engine: 'llama-cpp', local_path: '.', files: [file] });
const listed = [
  { name: 'demo', tool_call_format: 'chatml', default_sampling: { temperature: 0 }, variants: [variant('demo.gguf')] },
  { name: 'lamp', tool_call_format: 'generic', variants: [variant('qwen.gguf')] },
  { name: 'mute', variants: [variant('mute.gguf')] },
  { name: 'absent', variants: [variant('absent.gguf')] },
];

/** A tiny model of a family that says nothing of how it is spoken to. */
function mute(family: string): Buffer {
  const vocab = families.get(family)?.vocab;
  if (!vocab) throw new Error(`there is no family ${family}`);
  return tinyGguf({ vocab });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-doctor-'));
  const whole = await readFile(demo);
  await copyFile(demo, at('lantern.gguf'));
  await writeFile(at('mute.gguf'), mute('Qwen2.5 Instruct'));
  await writeFile(at('qwen.gguf'), familyGguf('Qwen3'));
  await writeFile(at('nemo.gguf'), mute('Mistral Nemo Instruct'));
  await writeFile(at('cut.gguf'), whole.subarray(0, 4_000_000));
  await writeFile(at('beheaded.gguf'), whole.subarray(0, 5000));
  await writeFile(at('wild.gguf'), whole.fill(255, 8, 24));
  await writeFile(at('story.gguf'), 'Once upon a time there was a lamp.');
  await copyFile(demo, at('demo.gguf'));
  await writeFile(at('models.json'), JSON.stringify({ models: listed }));
});
afterAll(() => rm(folder, { recursive: true }));

const doctor = (...args: readonly string[]) =>
  runs(['doctor', '--catalogue', at('models.json'), '--threads', '1', '--slots', '2', '--gpu', 'off', ...args]);

async function diagnosisOf(...args: readonly string[]): Promise<Diagnosis> {
  const { out, err, code } = await doctor('--json', ...args);
  expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('loading') });
  return JSON.parse(out) as Diagnosis;
}

/** What a person copies from the end of the page. */
const pasted = (page: string): unknown => JSON.parse(page.slice(page.indexOf('\n{') + 1));

describe('turngraph doctor', () => {
  it('says what the server does with the bundled model', async () => {
    const { out, err, code } = await doctor('demo', '--quick');
    // What depends on the machine stands as #.
    const steady = out.replaceAll(folder, '').replaceAll(/(?<=^ {2}(?:free|reads|writes) +)[\d.,]+ \w+/gm, '#');
    expect({ code, err }).toEqual({ code: 0, err: 'loading demo\ntiming how fast it reads and writes\n' });
    expect(steady).toMatchInlineSnapshot(`
      "demo
      /demo.gguf

      Model
        architecture      llama, 6 layers
        parameters        4.98 million
        quantisation      F16
        size              10.1 MB
        context           2,048 tokens are used, 2,048 were trained

      Prompts
        chat template     the file's own
        system message    supported
        tools             written in our own wording
        detected          none in template and vocabulary
        tool-call format  chatml (models.json names it)
        begin token       <|endoftext|>, but not put before prompts
        end tokens        <|im_end|>
        tool tokens       <tool_call> (plain text), </tool_call> (plain text)

      Memory
        weights           10.0 MB
        slots             29.9 MB for 2 of 2,048 tokens each
        free              # before it was loaded

      Speed
        backend           cpu
        threads           1
        reads             #/s
        writes            #/s

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
    expect(pasted(out)).toEqual(listed[0]);
  });

  it('asks it tool questions in each format, free and strict', async () => {
    const { out, err } = await doctor('demo');
    expect(err).toContain('asking 48 tool questions\n');
    const [, rows = ''] = /^Tool questions \(6, of which 1 wants no call\)\n(.*?)\n\n/ms.exec(out) ?? [];
    expect(
      rows
        .replaceAll(/\d(?= of)/g, '#')
        .split('\n')
        .slice(0, 5),
    ).toEqual([
      '                    free              strict',
      '  chatml            # of 6 right      # of 6 right      <- used',
      '  llama3            # of 6 right      # of 6 right',
      '  mistral           # of 6 right      # of 6 right',
      '  generic           # of 6 right      # of 6 right',
    ]);
    // The words that it was made for it has to find.
    expect(rows).not.toContain('Please turn on the light in the kitchen.');
  });

  it('makes of a file an entry that serves when it is pasted', async () => {
    const { out } = await doctor(at('lantern.gguf'));
    const entry = pasted(out);
    await writeFile(at('pasted.json'), JSON.stringify({ models: [entry] }));
    const { models, problems } = await readCatalogue(at('pasted.json'));
    expect(problems).toEqual([]);
    expect(models.get('lantern')).toMatchObject({
      file: at('lantern.gguf'),
      tool_call_format: expect.stringMatching(/^(?:chatml|llama3|mistral|generic)$/),
      default_sampling: { temperature: 0.7, top_p: 1, top_k: 0, min_p: 0.05, repeat_penalty: 1 },
      variants: [{ local_path: '.', files: ['lantern.gguf'], context_size: 2048 }],
    });
    const lamp = JSON.parse(await readFile(repositoryPath('graphs/lamp-switch.json'), 'utf8')) as object;
    await writeFile(at('lamp.json'), JSON.stringify({ ...lamp, default_model_name: 'lantern' }));
    const message = 'Please turn on the porch light.';
    const heard = await runs(['run', at('lamp.json'), message, '--catalogue', at('pasted.json'), '--threads', '1']);
    expect(JSON.parse(heard.out.split('\n')[0] ?? '')).toMatchObject({
      toolCallNotification: { toolName: 'set_light', typedArgumentsJson: '{"name": "porch", "on": true}' },
    });
  });

  it('tells a machine all of it, of a model without a template as well', async () => {
    const { model, trials, format, detectedFormat, speed, notes, entry, ...rest } = await diagnosisOf(at('mute.gguf'));
    expect(rest).toEqual({
      name: 'mute 2',
      files: [at('mute.gguf')],
      bytes: mute('Qwen2.5 Instruct').length,
      contextSize: 2048,
      stats: { backend: 'cpu', gpuLayers: 0, threads: 1, slots: 2 },
    });
    expect(model).toMatchObject({
      architecture: 'llama',
      layers: 1,
      quantisation: 'F32',
      template: { fallbackReason: 'the file has no chat template', system: 'anywhere', supportsTools: false },
      detectedIn: null,
      tokens: { bos: '<|endoftext|>', addsBos: false, eog: ['<|im_end|>', '<|endoftext|>'] },
      memory: { weights: { vram: 0 }, slots: { vram: 0 }, free: { vram: 0 } },
      threadBenchmarks: [],
    });
    expect([detectedFormat, format.name, format.isFound]).toEqual([null, 'chatml', false]);
    expect([speed.prefillPerSecond, speed.decodePerSecond].every((rate) => Number(rate) > 0)).toBe(true);
    expect(trials?.map((trial) => [trial.format, trial.free.length, trial.strict?.length])).toEqual([
      ['chatml', 6, 6],
      ['llama3', 6, 6],
      ['mistral', 6, 6],
      ['generic', 6, 6],
    ]);
    expect(notes).toEqual([
      'the file has no chat template, so prompts are written as ChatML',
      'models.json has this file already, as "mute"',
    ]);
    await writeFile(at('one.json'), JSON.stringify({ models: [entry] }));
    const { models, problems } = await readCatalogue(at('one.json'));
    expect([problems, models.get('mute 2')?.tool_call_format]).toEqual([[], '']);
  });

  it.each([
    ['qwen.gguf', 'chatml', 'template', 'word'],
    ['nemo.gguf', 'mistral', 'vocabulary', 'control'],
  ])('says how %s shows its format', async (file, format, where, kind) => {
    const { model, detectedFormat, entry, trials } = await diagnosisOf(at(file), '--quick');
    expect([detectedFormat, model.detectedIn, trials]).toEqual([format, where, null]);
    expect(entry).toMatchObject({ tool_call_format: format });
    expect(model.tokens.toolTokens[format]?.map((mark) => mark.kind)).toEqual(
      model.tokens.toolTokens[format]?.map(() => kind),
    );
  });

  it('says how fast each number of threads was that it tried', async () => {
    const { model } = await diagnosisOf('lamp', '--quick', '--threads', '0');
    const cores = availableParallelism();
    expect(model.threadBenchmarks.map(({ threads }) => threads)).toEqual(cores === 1 ? [] : threadCandidates(cores));
    expect(model.threadBenchmarks.every(({ tokensPerSecond }) => tokensPerSecond > 0)).toBe(true);
  });

  it('warns of a catalogue that contradicts its model', async () => {
    const { out } = await doctor('lamp', '--quick');
    expect(out).toContain('models.json names generic, but the model was trained on chatml');
    expect(out).not.toContain('Tool questions');
  });

  it.each([
    ['cut.gguf', 'cannot be loaded (Failed to load model): the file is damaged, cut short'],
    ['beheaded.gguf', 'it ends in the middle of its header: download it again'],
    ['wild.gguf', 'download it again'],
    ['story.gguf', 'it is no GGUF file'],
    ['.', 'it is no file'],
  ])('refuses the file %s in one sentence', async (file, why) => {
    const { out, err, code } = await doctor(at(file));
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toMatch(/^error: MODEL_LOAD_FAILED \(6009\): .+\n$/);
    expect(err).toContain(why);
  });

  it('says of a path that leads nowhere where it looked, and nothing of the catalogue', async () => {
    const { err, code } = await doctor('nofile.gguf');
    expect(err).toBe(`error: MODEL_NOT_ON_DISK (6008): there is no file ${repositoryPath('nofile.gguf')}\n`);
    expect(code).toBe(1);
  });

  it.each([
    ['a name with a typo', 'lmap', 2, 'did you mean "lamp"?'],
    ['a name that is like no other', 'phi-4', 2, 'turngraph models list'],
    ['a model that is not on disk', 'absent', 1, 'MODEL_NOT_ON_DISK (6008)'],
    ['a path that leads nowhere', './lamp.gguf', 1, 'there is no file'],
  ])('refuses %s', async (_, given, expected, why) => {
    const { out, err, code } = await doctor(given);
    expect({ out, code }).toEqual({ out: '', code: expected });
    expect(err).toContain(why);
  });
});
