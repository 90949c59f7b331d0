import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { LoraSource, ModelSource } from '../../../src/inference/download/target.ts';
import { seededBytes, sha256 } from '../../helpers/fakeHub.ts';
import { useDownloadFixture } from './downloadFixture.ts';

const model = seededBytes(3000);
const voice = seededBytes(2000, 2);
const url = 'https://huggingface.co/ann/voices/resolve/main/wizard.gguf';
const fixture = useDownloadFixture();

const sourceWith = (lora: readonly LoraSource[], more: Partial<ModelSource> = {}): ModelSource => ({
  name: 'Wizard',
  file: undefined,
  variants: [{ huggingface_repo: 'ann/base', revision: 'main', files: ['base.gguf'], lora }],
  ...more,
});

function offer(): void {
  fixture().hub.files.set('ann/base/base.gguf', { content: model });
  fixture().hub.files.set('ann/voices/wizard.gguf', { content: voice });
}

describe('the LoRA adapters of a model', () => {
  it('are downloaded with it, verified and deleted with it', async () => {
    offer();
    const downloads = fixture().createDownloads();
    const source = sourceWith([{ url, sha256: sha256(voice), size_bytes: voice.length }]);
    expect(await downloads.readStatus(source)).toBe('ABSENT');
    expect(await downloads.start(source, {})).toEqual({ bytes: model.length + voice.length });
    const path = join(fixture().folder, 'ann', 'voices', 'wizard.gguf');
    expect((await downloads.locate(source))?.loras).toEqual([path]);
    expect((await downloads.locate(source))?.bytes).toBe(model.length + voice.length);
    expect(await downloads.readStatus(source)).toBe('DOWNLOADED');
    const verified = await downloads.verify(source);
    expect(verified.map(({ file, verdict }) => [file.endsWith('wizard.gguf'), verdict])).toEqual([
      [false, 'GOOD'],
      [true, 'GOOD'],
    ]);
    // A damaged one is set aside, and only it is fetched again.
    await writeFile(path, seededBytes(2000, 3));
    expect((await downloads.verify(source)).map(({ verdict }) => verdict)).toEqual(['GOOD', 'BAD']);
    expect(await downloads.locate(source)).toBeUndefined();
    await downloads.start(source, {});
    expect((await downloads.verify(source)).map(({ verdict }) => verdict)).toEqual(['GOOD', 'GOOD']);
    expect(await downloads.remove(source)).toEqual({ bytes: model.length + voice.length + voice.length });
    expect(await downloads.readStatus(source)).toBe('ABSENT');
  });

  it('are fetched alone where the model is a file of the user', async () => {
    offer();
    const file = join(fixture().folder, '..', 'own', 'base.gguf');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, model);
    const source = sourceWith([{ url }], {
      file,
      variants: [{ revision: 'main', files: ['base.gguf'], lora: [{ url }] }],
    });
    const downloads = fixture().createDownloads();
    expect(await downloads.locate(source)).toBeUndefined();
    await downloads.start(source, {});
    expect(await fixture().listFiles()).toEqual(['downloads.json', 'wizard.gguf']);
    expect((await downloads.locate(source))?.files[0]).toBe(file);
    expect(await downloads.readStatus(source)).toBe('LOCAL');
  });

  it('are refused where their content is not what the catalogue says', async () => {
    offer();
    const downloads = fixture().createDownloads();
    const source = sourceWith([{ url, sha256: sha256(model) }]);
    await expect(downloads.start(source, {})).rejects.toMatchObject({ name: 'CHECKSUM_MISMATCH' });
    expect((await downloads.locate(source))?.loras).toBeUndefined();
  });

  it('may be files of the user, which are not downloaded, and never deleted', async () => {
    offer();
    const file = join(fixture().folder, '..', 'voice.gguf');
    const source = sourceWith([{ file: 'voice.gguf' }], { loraFiles: [file] });
    const downloads = fixture().createDownloads();
    await expect(downloads.start(source, {})).rejects.toThrow(`there is no LoRA ${file}, which is a file of your own`);
    await writeFile(file, voice);
    await downloads.start(source, {});
    expect((await downloads.locate(source))?.loras).toEqual([file]);
    await downloads.remove(source);
    await writeFile(join(fixture().folder, '..', 'other.gguf'), voice);
    expect((await downloads.verify(source)).map(({ file: verified }) => verified)).toEqual([file]);
  });
});
