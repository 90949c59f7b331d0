import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeHub, seededBytes, sha256 } from '../helpers/fakeHub.ts';
import { startCli, untilExit, useCommandHost, type CliResult } from './command.ts';

const runCommand = useCommandHost();
const content = seededBytes(3_000_000);
let hub: FakeHub;
let folder = '';

beforeEach(async () => {
  hub = await FakeHub.open();
  hub.files.set('ann/tiny/model.gguf', { content });
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const variant = { engine: 'llama-cpp', huggingface_repo: 'ann/tiny', files: ['model.gguf'], license: 'MIT' };
  const models = [
    { name: 'Lost', variants: [{ ...variant, files: ['lost.gguf'], size_bytes: 5_000_000_000 }] },
    { name: 'Tiny', description: 'A small one.', tool_call_format: 'chatml', variants: [variant] },
  ];
  await writeFile(join(folder, 'models.json'), JSON.stringify({ extends: false, models }));
});
afterEach(async () => {
  await hub[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const flags = (): readonly string[] => ['--catalogue', join(folder, 'models.json'), '--models', join(folder, 'store')];
const environment = (): Readonly<Record<string, string>> => ({
  HF_ENDPOINT: hub.url,
  HF_HUB_CACHE: join(folder, 'cache'),
  // Other programs have their models below it.
  HOME: folder,
  USERPROFILE: folder,
  OLLAMA_MODELS: join(folder, 'ollama'),
});
const models = (...args: readonly string[]): Promise<CliResult> =>
  runCommand(['models', ...args, ...flags()], '', environment());
const file = (): string => join(folder, 'store', 'ann', 'tiny', 'model.gguf');
const jsonLines = (text: string): readonly Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('turngraph models', () => {
  it('downloads, lists, verifies and deletes a model', async () => {
    expect((await models('list')).out).toBe('Lost  ABSENT  5.00 GB\nTiny  ABSENT  chatml\n    A small one.\n');
    expect(await models('download', 'Tiny')).toEqual({ code: 0, out: '', err: `Tiny: 3.0 MB in ${file()}\n` });
    expect((await readFile(file())).equals(content)).toBe(true);
    expect((await models('list')).out).toMatch(/^Tiny {2}DOWNLOADED {2}3\.0 MB {2}chatml\n/);
    expect(jsonLines((await models('list', '--json')).out)).toMatchObject([
      { name: 'Tiny', status: 'DOWNLOADED', size_bytes: 3_000_000 },
      { name: 'Lost', status: 'ABSENT', size_bytes: 5_000_000_000 },
    ]);
    expect((await models('info', 'Tiny')).out).toBe(
      [
        'name:             Tiny',
        'status:           DOWNLOADED',
        `file:             ${file()}`,
        'size_bytes:       3.0 MB',
        'problem:          its GGUF version is 67634689, and 2 and 3 are known: download it again',
        'huggingface_repo: ann/tiny',
        'revision:         main',
        'files:            model.gguf',
        'license:          MIT',
        'purpose:          chat',
        'tool_call_format: chatml',
        'description:      A small one.',
        '',
      ].join('\n'),
    );
    expect(await models('verify')).toEqual({ code: 0, out: `Tiny  GOOD  ${file()}\n`, err: '' });
    expect(await models('delete', 'Tiny')).toEqual({ code: 0, out: '', err: 'Tiny: deleted, 3.0 MB are free\n' });
    expect((await models('delete', 'Tiny')).err).toBe('error: MODEL_NOT_ON_DISK (6008): "Tiny" is not on disk\n');
  });

  it('finds the models of other programs, says where they are and which they are, and takes them off line', async () => {
    const studio = join(folder, '.lmstudio', 'models', 'ann', 'tiny');
    const [mine, blob] = [join(studio, 'model.gguf'), join(folder, 'ollama', 'blobs', `sha256-${sha256(content)}`)];
    const empty = await models('found');
    expect(empty).toMatchObject({ code: 0, out: '' });
    expect(empty.err).toContain('no GGUF file of another program is on this machine; looked in\n');
    expect(empty.err).toContain(`    ${join(folder, 'ollama')} (Ollama)\n`);
    for (const path of [mine, blob]) await mkdir(dirname(path), { recursive: true });
    await writeFile(mine, seededBytes(1_000_000, 5));
    await writeFile(blob, content);
    const manifest = join(folder, 'ollama', 'manifests', 'registry.ollama.ai', 'library', 'tiny', '1b');
    await mkdir(dirname(manifest), { recursive: true });
    const layer = { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${sha256(content)}` };
    await writeFile(manifest, JSON.stringify({ layers: [layer] }));
    const variant = { engine: 'llama-cpp', huggingface_repo: 'eve/known', files: ['k.gguf'], sha256: sha256(content) };
    const { models: entries } = JSON.parse(await readFile(join(folder, 'models.json'), 'utf8')) as { models: object[] };
    entries.push({ name: 'Known', variants: [variant] });
    await writeFile(join(folder, 'models.json'), JSON.stringify({ extends: false, models: entries }));
    expect(await models('found')).toEqual({
      code: 0,
      out: `ann/tiny/model.gguf  1.0 MB  LM Studio  "Tiny"\n    ${mine}\ntiny:1b  3.0 MB  Ollama  "Known"\n    ${blob}\n`,
      err: '',
    });
    expect(jsonLines((await models('found', '--json')).out)[1]).toEqual({
      name: 'tiny:1b',
      size_bytes: 3_000_000,
      program: 'Ollama',
      file: blob,
      sha256: sha256(content),
      models: ['Known'],
    });
    const offline = { ...environment(), HF_HUB_OFFLINE: '1' };
    const download = await runCommand(['models', 'download', 'Known', ...flags()], '', offline);
    const placed = join(folder, 'store', 'eve', 'known', 'k.gguf');
    expect(download).toEqual({
      code: 0,
      out: '',
      err: `Known: verifies the file of Ollama, ${blob}\nKnown: 3.0 MB in ${placed}\n`,
    });
    expect((await readFile(placed)).equals(content)).toBe(true);
    expect((await models('delete', 'Known')).code).toBe(0);
    expect((await readFile(blob)).equals(content)).toBe(true);
  });

  it('prints one line of JSON per event, the last one also on failure', async () => {
    const { out, err, code } = await models('download', '--json', 'Tiny', 'Lost');
    const lines = jsonLines(out);
    expect(lines.slice(-3)).toEqual([
      { event: 'progress', model: 'Tiny', phase: 'DOWNLOADING', bytesDone: 3e6, bytesTotal: 3e6, fraction: 1 },
      { event: 'downloaded', model: 'Tiny', bytes: 3e6, file: file() },
      {
        event: 'failed',
        model: 'Lost',
        code: 6002,
        name: 'DOWNLOAD_NOT_AVAILABLE',
        message: expect.any(String) as unknown,
      },
    ]);
    expect({ err, code }).toEqual({ err: '', code: 1 });
  });

  it('downloads the others when one fails', async () => {
    const { err, code } = await models('download', 'Lost', 'Tiny');
    expect(err.split('\n')).toEqual([
      `error: DOWNLOAD_NOT_AVAILABLE (6002): the hub has no lost.gguf of ann/tiny; look at ${hub.url}/ann/tiny`,
      `Tiny: 3.0 MB in ${file()}`,
      '',
    ]);
    expect(code).toBe(1);
  });

  it('quarantines a file whose content has changed', async () => {
    await models('download', 'Tiny');
    await writeFile(file(), seededBytes(3_000_000, 2));
    const { out, code } = await models('verify', 'Tiny');
    expect(out).toMatch(new RegExp(`^Tiny  BAD  .*\n    SHA-256 \\w{64} instead of ${sha256(content)}; set aside as `));
    expect(code).toBe(1);
    await stat(`${file()}.bad`);
  });

  it('keeps the partial file when it is interrupted, and reports it', async () => {
    hub.faults.store.push({ kind: 'stall', after: 1_000_000 });
    const child = startCli(['models', 'download', 'Tiny', ...flags()], environment());
    const end = untilExit(child);
    const size = async (): Promise<number> => (await stat(`${file()}.part`).catch(() => undefined))?.size ?? 0;
    while ((await size()) < 1_000_000) await sleep(10);
    child.kill('SIGINT');
    expect(await end).toEqual({
      code: 130,
      out: '',
      err: 'error: DOWNLOAD_CANCELLED (6011): stopped; 1.0 MB of "Tiny" are kept, and the same command goes on from there\n',
    });
    expect((await models('info', 'Tiny')).out).toContain('kept_bytes:       1000000\n');
    expect((await models('download', 'Tiny')).code).toBe(0);
    expect(hub.bytesServed).toBe(content.length);
  });

  it('names the process that is downloading the same model', async () => {
    hub.maxBytesSent = 2 ** 16;
    const child = startCli(['models', 'download', 'Tiny', ...flags()], environment());
    const end = untilExit(child);
    await new Promise<void>((resolve) => (hub.onBytesSent = resolve));
    const { err, code } = await models('download', 'Tiny');
    expect(err).toContain(`error: DOWNLOAD_ALREADY_ACTIVE (6004): process ${child.pid} works on ${file()} already`);
    expect(code).toBe(1);
    child.kill('SIGINT');
    await end;
  });

  it.each([['list'], ['info', 'Tiny'], ['download', 'Tiny'], ['verify'], ['delete', 'Tiny']])(
    'reports a file in the place of the models folder: %s',
    async (...command) => {
      await writeFile(join(folder, 'store'), '');
      expect(await models(...command)).toEqual({
        code: 1,
        out: '',
        err: `error: --models ${join(folder, 'store')}: a file is in the place of that folder\n`,
      });
    },
  );

  it('names the part of a model that is missing, and its folder', async () => {
    const parts = [1, 2, 3].map((part) => `big-0000${part}-of-00003.gguf`);
    const [local, remote] = [join(folder, 'gguf'), join(folder, 'store', 'ann', 'big')];
    const variant = { engine: 'llama-cpp', files: parts };
    const listed = [
      { name: 'Own', variants: [{ ...variant, local_path: 'gguf' }] },
      { name: 'Big', variants: [{ ...variant, huggingface_repo: 'ann/big' }] },
    ];
    await writeFile(join(folder, 'models.json'), JSON.stringify({ extends: false, models: listed }));
    for (const path of [local, remote]) {
      await mkdir(path, { recursive: true });
      for (const part of [parts[0], parts[2]]) await writeFile(join(path, part ?? ''), 'GGUF');
    }
    for (const [name, path] of [
      ['Own', local],
      ['Big', remote],
    ] as const) {
      const missing = `there is no file ${join(path, parts[1] ?? '')}: part 2 of 3 is missing; put it into the folder of the others`;
      expect((await models('info', name)).out).toMatch(/^status: +ABSENT$/m);
      expect((await models('info', name)).out).toContain(`problem:          ${missing}\n`);
      expect(await models('verify', name)).toMatchObject({
        code: 1,
        err: `error: "${name}" is not on disk: ${missing}\n`,
      });
    }
    expect((await models('verify')).err).toContain('Big: there is no file');
    const missing = `there is no file ${join(local, parts[1] ?? '')}: part 2 of 3 is missing; put it into the folder of the others`;
    const args = (model: string) => [
      'run',
      'graphs/chat.json',
      'Hi',
      '--model',
      model,
      '--catalogue',
      join(folder, 'models.json'),
    ];
    for (const [model, name] of [
      ['Own', 'Own'],
      [join(local, parts[0] ?? ''), 'big'],
    ] as const)
      expect((await runCommand(args(model))).err).toContain(`"${name}" is not on disk: ${missing}\n`);
  });

  it.each(['qwen3-0.6b-q8_0', 'Qwen3_0.6B(Q8_0)', 'QWEN3 0.6B Q8 0'])(
    'knows a name without its spaces and brackets: %s',
    async (name) => {
      const { out, code } = await runCommand(['models', 'info', name]);
      expect({ name: /Qwen3 0\.6B \(Q8_0\)/.test(out), code }).toEqual({ name: true, code: 0 });
    },
  );

  it.each([
    ['qwen3-0.6b', 'Qwen3 0.6B (Q8_0)'],
    ['llama-3.2-1b', 'Llama 3.2 1B Instruct (Q4_K_M)'],
  ])('does not guess what %s is, and asks', async (name, meant) => {
    const { err, code } = await runCommand(['models', 'info', name]);
    expect({ err, code }).toEqual({ err: expect.stringContaining(`did you mean "${meant}"?`) as unknown, code: 2 });
  });

  it.each(['info', 'download', 'verify', 'delete'])('suggests a similar name: %s', async (command) => {
    const { err, out, code } = await models(command, 'Tinny');
    expect({ err, out, code }).toEqual({
      err: 'error: the catalogue has no model "Tinny"; did you mean "Tiny"?\n',
      out: '',
      code: 2,
    });
  });
});
