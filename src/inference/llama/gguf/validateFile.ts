import { constants, type FileHandle, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type GgufHeader, IncompleteHeader, parseHeader, type TensorInfo } from './header.ts';
import { describeError, Fault } from '../../../protocol/fault.ts';
import { describeFsError } from '../../../base/filesystem.ts';
import { missingPart, splitFileNames } from '../../contract/model.ts';
import { findHyperparameterProblem } from './hyperparameters.ts';

/** Validates a header: llama.cpp aborts on some. @returns bytes of all splits. @throws Fault MODEL_LOAD_FAILED */
export async function validateGgufFile(file: string): Promise<number> {
  const { header, bytes } = await readGguf(file);
  validateMetadata(header);
  const broken = header.tensors.find(
    ({ dimensions }) => !dimensions.every((size) => size >= 1 && size <= maxTensorDimension),
  );
  if (broken) throw loadFault(`its tensor ${broken.name} has an impossible size: download it again`);
  const problem = findHyperparameterProblem(header) ?? findTypeProblem(header.tensors);
  if (problem !== undefined) throw loadFault(`${problem}: convert or download it again`);
  return bytes;
}

/** Reads the header of a GGUF file, or of all splits after the first. @throws Fault MODEL_LOAD_FAILED */
export async function readGguf(file: string): Promise<{ readonly header: GgufHeader; readonly bytes: number }> {
  const names = splitFileNames(basename(file));
  const parts: Part[] = [];
  for (const [index, name] of names.entries()) {
    const missing = names.length > 1 ? missingPart(index, names.length) : 'check the path';
    parts.push(await readPart(join(dirname(file), name), missing));
  }
  const problem = findSplitProblem(names, parts, basename(file));
  if (problem !== undefined) throw loadFault(problem);
  // The first part has the model's metadata; the others have only tensors.
  const [{ header }] = parts as [Part];
  const tensors = parts.flatMap((part) => part.header.tensors);
  return { header: { ...header, tensors }, bytes: parts.reduce((sum, { size }) => sum + size, 0) };
}

interface Part {
  readonly header: ReturnType<typeof parseHeader>;
  readonly size: number;
}

/** Finds why files are not the parts of one model in their order, as their headers count them. */
function findSplitProblem(names: readonly string[], parts: readonly Part[], given: string): string | undefined {
  for (const [index, part] of parts.entries()) {
    const { values } = part.header;
    const [number, count] = [Number(values.get('split.no') ?? 0) + 1, Number(values.get('split.count') ?? 1)];
    const name = names[index] ?? '';
    const own = count > 1 ? `part ${number} of ${count} of a split model` : 'a whole model';
    if (names.length === 1 && count > 1 && hasMoreThanTensors(part))
      return `it is parts of a split model, joined as they are: join the parts with llama-gguf-split --merge, or keep them apart`;
    if (names.length === 1 && count > 1)
      return `it is ${own}, and its name does not say so: give each part the name that it had (${name.replace(/\.gguf$/i, splitSuffix(number, count))}), in one folder`;
    if (count !== names.length || (count > 1 && number !== index + 1))
      return `${name} is ${own}, as its header says, and part ${index + 1} of ${names.length} by its name: give each part the name that it had`;
  }
  if (names[0] !== given) return `it is not the first part: give ${names[0]}`;
  const tensors = parts.reduce((sum, { header }) => sum + header.tensors.length, 0);
  const all = parts[0]?.header.values.get('split.tensors.count') ?? tensors;
  return all === tensors
    ? undefined
    : `its parts have ${tensors} tensors, and the model has ${all}: they are of different models`;
}

const splitSuffix = (number: number, count: number): string =>
  `-${[number, count].map((value) => String(value).padStart(5, '0')).join('-of-')}.gguf`;

/** Whether a file is larger than its tensors can be, of whatever type they are. */
function hasMoreThanTensors({ header: { tensors, end }, size }: Part): boolean {
  const elements = ({ dimensions }: TensorInfo): number => dimensions.reduce((product, length) => product * length, 1);
  return tensors.every((tensor) => size > end + tensor.offset + maxBytesPerElement * elements(tensor) + maxPadding);
}

const maxBytesPerElement = 4;
const maxPadding = 4096;

async function readPart(file: string, missing: string): Promise<Part> {
  await using handle = await openFile(file, missing);
  const stat = await handle.stat();
  if (!stat.isFile()) throw loadFault('it is no file: give the path of a .gguf file');
  return { header: await readHeader(handle, stat.size), size: stat.size };
}

const initialReadBytes = 2 ** 20;
const maxHeaderBytes = 2 ** 28;

async function readHeader(handle: FileHandle, size: number): Promise<Part['header']> {
  for (let length = initialReadBytes; ; length *= 4) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(length, size)), 0, Math.min(length, size), 0);
    try {
      return parseHeader(buffer.subarray(0, bytesRead));
    } catch (error) {
      const isIncomplete = error instanceof IncompleteHeader;
      if (isIncomplete && length < Math.min(size, maxHeaderBytes)) continue;
      if (size < 4 || buffer.toString('latin1', 0, 4) !== 'GGUF')
        throw loadFault('it is no GGUF file: give one that is');
      const why = isIncomplete ? 'it ends in the middle of its header' : describeError(error);
      throw loadFault(`${why}: download it again`, error);
    }
  }
}

const maxHyperparameter = 2 ** 31;
const maxTensorDimension = 2 ** 40;

/** Keys without the architecture in front of them (`llama.block_count`). */
const requiredKeys = ['block_count', 'embedding_length', 'context_length'];
const keysByTensor = { 'ffn_up.weight': 'feed_forward_length', 'attn_q.weight': 'attention.head_count' };

/** Validates the metadata that llama.cpp calculates with, or relies on, without validating it itself. */
function validateMetadata({ values, tensors, hasDuplicateTokens }: GgufHeader): void {
  if (hasDuplicateTokens) throw loadFault('its vocabulary has a token twice: convert or download it again');
  const architecture = values.get('general.architecture');
  if (typeof architecture !== 'string')
    throw loadFault('it does not name its architecture: convert or download it again');
  const keysOfTensors = Object.entries(keysByTensor)
    .filter(([suffix]) => tensors.some(({ name }) => name.endsWith(suffix)))
    .map(([, key]) => key);
  for (const key of [...requiredKeys, ...keysOfTensors]) {
    const value = values.get(`${architecture}.${key}`);
    if (typeof value === 'number' && value >= 1 && value <= maxHyperparameter) continue;
    throw loadFault(`its ${architecture}.${key} is ${value ?? 'missing'}: download it again`);
  }
}

async function openFile(file: string, missing: string): Promise<FileHandle> {
  try {
    // Without O_NONBLOCK it would wait for a writer of a named pipe.
    return await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT')
      throw loadFault(`there is no file ${basename(file)}: ${missing}, or download the model`, error);
    throw loadFault(`it cannot be read: ${describeFsError(error)}`, error);
  }
}

const loadFault = (why: string, cause?: unknown): Fault => new Fault('MODEL_LOAD_FAILED', why, { cause });

// ggml types: f32, and those that hold no weights (i8, i16, i32, i64, f64).
const f32 = 0;
const numberTypes = new Set([24, 25, 26, 27, 28]);

/** Weights of matrix products and embeddings. Other tensors may hold indexes. */
const weights =
  /^(?:token_embd|output|blk\.\d+\.(?:attn_(?:q|k|v|qkv|output)|ffn_(?:gate|up|down)(?:_exps|_shexp)?))\.weight$/;

/** Vectors, which llama.cpp multiplies with or adds to f32 values: convert_hf_to_gguf.py and llama-quantize leave them f32. */
const vectors = /(?:norm(?:_\w{1,64})?\.(?:weight|bias)|\.bias|^rope_freqs\.weight|\.rope_freqs\.weight)$/;

/** Finds a tensor of a type with which llama.cpp cannot calculate: it would abort the process at the first token. */
export function findTypeProblem(tensors: readonly TensorInfo[]): string | undefined {
  for (const { name, type, dimensions } of tensors) {
    const isVector = dimensions.length === 1 && vectors.test(name);
    if (isVector ? type !== f32 : numberTypes.has(type) && (weights.test(name) || vectors.test(name)))
      return `its tensor ${name} has the type ${type} (ggml_type), with which llama.cpp cannot calculate`;
  }
  return undefined;
}
