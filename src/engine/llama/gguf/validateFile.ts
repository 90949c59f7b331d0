import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../../fault.ts';
import { partsOf } from '../../splitFiles.ts';
import { NeedsMore, parseHeader, type GgufHeader } from './header.ts';

/**
 * Checks that a path leads to a GGUF file whose header is whole and sane, for llama.cpp ends the process on some that are
 * not; gives its size in bytes, all parts together. @throws Fault MODEL_LOAD_FAILED
 */
export async function checkFile(file: string): Promise<number> {
  const parts = partsOf(basename(file)).map((name) => join(dirname(file), name));
  let bytes = 0;
  for (const part of parts) bytes += await checkPart(part, part === parts[0]);
  return bytes;
}

/** @param isFirst whether the part says what the model is like; the others hold only tensors. */
async function checkPart(file: string, isFirst: boolean): Promise<number> {
  const handle = await opened(file);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw refused('it is no file: give the path of a .gguf file');
    const header = await readHeader(handle, stat.size);
    if (isFirst) checkNumbers(header);
    checkTensors(header);
    return stat.size;
  } finally {
    await handle.close();
  }
}

const firstRead = 1 << 20;
const largestHeader = 1 << 28;

async function readHeader(handle: FileHandle, size: number): Promise<GgufHeader> {
  for (let length = firstRead; ; length *= 4) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(length, size)), 0, Math.min(length, size), 0);
    try {
      return parseHeader(buffer.subarray(0, bytesRead));
    } catch (error) {
      const cutShort = error instanceof NeedsMore;
      if (cutShort && length < Math.min(size, largestHeader)) continue;
      if (size < 4 || buffer.toString('latin1', 0, 4) !== 'GGUF') throw refused('it is no GGUF file: give one that is');
      const why = cutShort
        ? 'it ends in the middle of its header'
        : error instanceof Error
          ? error.message
          : String(error);
      throw refused(`${why}: download it again`, error);
    }
  }
}

const most = 2 ** 31;
const largestDimension = 2 ** 40;
const always = ['block_count', 'embedding_length', 'context_length'];
const withTensor = { 'ffn_up.weight': 'feed_forward_length', 'attn_q.weight': 'attention.head_count' };

/** The numbers that llama.cpp calculates with before it has looked whether it can. */
function checkNumbers({ values, tensors, ambiguous }: GgufHeader): void {
  if (ambiguous) throw refused('its vocabulary has a token twice: convert or download it again');
  const architecture = values.get('general.architecture');
  if (typeof architecture !== 'string')
    throw refused('it does not name its architecture: convert or download it again');
  const asked = Object.entries(withTensor).filter(([ending]) => tensors.some(({ name }) => name.endsWith(ending)));
  for (const key of [...always, ...asked.map(([, key]) => key)]) {
    const value = values.get(`${architecture}.${key}`);
    if (typeof value === 'number' && value >= 1 && value <= most) continue;
    throw refused(`its ${architecture}.${key} is ${value ?? 'missing'}: download it again`);
  }
}

function checkTensors({ tensors }: GgufHeader): void {
  const possible = (dimension: number): boolean => dimension >= 1 && dimension <= largestDimension;
  const broken = tensors.find(({ dimensions }) => !dimensions.every(possible));
  if (broken) throw refused(`its tensor ${broken.name} has a size that cannot be: download it again`);
}

async function opened(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT')
      throw refused(`there is no file ${basename(file)}: check the path, or download the model`, error);
    throw refused(`it cannot be read (${String(code)}): check its permissions`, error);
  }
}

const refused = (why: string, cause?: unknown): Fault => new Fault('MODEL_LOAD_FAILED', why, { cause });
