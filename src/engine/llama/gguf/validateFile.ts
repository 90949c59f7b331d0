import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../../../fault.ts';
import { splitFileNames } from '../../splitFiles.ts';
import { IncompleteHeader, parseHeader, type GgufHeader } from './header.ts';

/**
 * Checks that a path leads to a GGUF file whose header is whole and sane, for llama.cpp ends the process on some that are
 * not; gives its size in bytes, all parts together. @throws Fault MODEL_LOAD_FAILED
 */
export async function validateGgufFile(file: string): Promise<number> {
  const parts = splitFileNames(basename(file)).map((name) => join(dirname(file), name));
  let bytes = 0;
  for (const part of parts) bytes += await validateSplit(part, part === parts[0]);
  return bytes;
}

/** @param isFirst whether the part says what the model is like; the others hold only tensors. */
async function validateSplit(file: string, isFirst: boolean): Promise<number> {
  const handle = await openFile(file);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw loadFault('it is no file: give the path of a .gguf file');
    const header = await readHeader(handle, stat.size);
    if (isFirst) validateMetadata(header);
    validateTensors(header);
    return stat.size;
  } finally {
    await handle.close();
  }
}

const initialReadBytes = 1 << 20;
const maxHeaderBytes = 1 << 28;

async function readHeader(handle: FileHandle, size: number): Promise<GgufHeader> {
  for (let length = initialReadBytes; ; length *= 4) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(length, size)), 0, Math.min(length, size), 0);
    try {
      return parseHeader(buffer.subarray(0, bytesRead));
    } catch (error) {
      const cutShort = error instanceof IncompleteHeader;
      if (cutShort && length < Math.min(size, maxHeaderBytes)) continue;
      if (size < 4 || buffer.toString('latin1', 0, 4) !== 'GGUF')
        throw loadFault('it is no GGUF file: give one that is');
      const why = cutShort
        ? 'it ends in the middle of its header'
        : error instanceof Error
          ? error.message
          : String(error);
      throw loadFault(`${why}: download it again`, error);
    }
  }
}

const maxHyperparameter = 2 ** 31;
const maxTensorDimension = 2 ** 40;
const requiredKeys = ['block_count', 'embedding_length', 'context_length'];
const keysByTensor = { 'ffn_up.weight': 'feed_forward_length', 'attn_q.weight': 'attention.head_count' };

/** The numbers that llama.cpp calculates with before it has looked whether it can. */
function validateMetadata({ values, tensors, hasDuplicateTokens: ambiguous }: GgufHeader): void {
  if (ambiguous) throw loadFault('its vocabulary has a token twice: convert or download it again');
  const architecture = values.get('general.architecture');
  if (typeof architecture !== 'string')
    throw loadFault('it does not name its architecture: convert or download it again');
  const asked = Object.entries(keysByTensor).filter(([ending]) => tensors.some(({ name }) => name.endsWith(ending)));
  for (const key of [...requiredKeys, ...asked.map(([, key]) => key)]) {
    const value = values.get(`${architecture}.${key}`);
    if (typeof value === 'number' && value >= 1 && value <= maxHyperparameter) continue;
    throw loadFault(`its ${architecture}.${key} is ${value ?? 'missing'}: download it again`);
  }
}

function validateTensors({ tensors }: GgufHeader): void {
  const possible = (dimension: number): boolean => dimension >= 1 && dimension <= maxTensorDimension;
  const broken = tensors.find(({ dimensions }) => !dimensions.every(possible));
  if (broken) throw loadFault(`its tensor ${broken.name} has a size that cannot be: download it again`);
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT')
      throw loadFault(`there is no file ${basename(file)}: check the path, or download the model`, error);
    throw loadFault(`it cannot be read (${String(code)}): check its permissions`, error);
  }
}

const loadFault = (why: string, cause?: unknown): Fault => new Fault('MODEL_LOAD_FAILED', why, { cause });
