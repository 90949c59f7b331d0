import { basename } from 'node:path';
import { describeError, Fault } from '../../protocol/fault.ts';
import { type LoraFile, splitFileNames } from '../contract/model.ts';
import type { MemoryUse } from '../contract/memory.ts';
import { readGguf } from './gguf/validateFile.ts';
import type { GgufHeader, TensorInfo } from './gguf/header.ts';

/** Checks that LoRA adapters fit a model. @returns their size in bytes. @throws Fault MODEL_LOAD_FAILED */
export async function checkLoras(model: string, loras: readonly LoraFile[]): Promise<number> {
  if (loras.length === 0) return 0;
  const { header } = await readGguf(model);
  const tensors = byName(header.tensors);
  let bytes = 0;
  for (const { file } of loras) {
    const isSplit = splitFileNames(basename(file)).length > 1;
    if (isSplit) throw loraFault(file, 'it is split, and llama.cpp reads adapters of one file');
    const lora = await readGguf(file).catch((error: unknown) => {
      throw loraFault(file, describeError(error), error);
    });
    const problem = findMetadataProblem(lora.header, header) ?? findTensorProblem(lora.header.tensors, tensors);
    if (problem !== undefined) throw loraFault(file, problem);
    bytes += lora.bytes;
  }
  return bytes;
}

/** The fault of an adapter that llama.cpp refused although it seemed to fit; other errors as they are. */
export function toLoraFault(loras: readonly LoraFile[], error: unknown): unknown {
  const failed = loras.find(({ file }) => describeError(error).includes(`LoRA adapter "${file}"`));
  return failed ? loraFault(failed.file, 'it is damaged or cut short', error) : error;
}

/** What adapters take: llama.cpp puts each tensor where the tensor of the model is that it changes. */
export const loraMemory = (bytes: number, gpuLayers: number): MemoryUse =>
  gpuLayers > 0 ? { ram: 0, vram: bytes } : { ram: bytes, vram: 0 };

const loraFault = (file: string, why: string, cause?: unknown): Fault =>
  new Fault('MODEL_LOAD_FAILED', `its LoRA ${file} does not fit: ${why}`, { cause });

type Tensors = ReadonlyMap<string, TensorInfo>;

const suffixes = ['.lora_a', '.lora_b'] as const;
/** The types of weights (`ggml_type`) that convert_lora_to_gguf.py writes: f32, f16, q8_0, bf16. */
const weightTypes = new Set([0, 1, 8, 30]);
const embeddings = 'token_embd.weight';

/** Why a LoRA adapter does not fit a model, if so: llama.cpp refuses some, and aborts the process with others. */
function findMetadataProblem({ values, kinds }: GgufHeader, model: GgufHeader): string | undefined {
  const isText = (key: string, text: string): boolean => kinds.get(key) === 'text' && values.get(key) === text;
  if (!isText('general.type', 'adapter') || !isText('adapter.type', 'lora')) return 'it is no LoRA adapter';
  const architecture = model.values.get('general.architecture');
  if (!isText('general.architecture', String(architecture)))
    return `it is for the architecture ${values.get('general.architecture') ?? 'of no name'}, and the model has ${architecture}`;
  const alpha = 'adapter.lora.alpha';
  if (values.has(alpha) && !(kinds.get(alpha) === 'f32' && Number.isFinite(values.get(alpha))))
    return `its ${alpha} is no finite 32-bit float`;
  if (values.has('adapter.alora.invocation_tokens'))
    return 'it is an activated LoRA, which takes effect after certain tokens only, and this server has none of these';
  return undefined;
}

/** As `findMetadataProblem`, by the tensors. */
function findTensorProblem(tensors: readonly TensorInfo[], model: Tensors): string | undefined {
  const own = byName(tensors);
  if (tensors.length === 0) return 'it has no tensors';
  if (own.size < tensors.length) return 'it has a tensor twice';
  for (const { name, type, dimensions } of tensors) {
    const suffix = suffixes.find((end) => name.endsWith(end));
    if (suffix === undefined) return `its tensor ${name} is neither lora_a nor lora_b of a tensor of the model`;
    if (!weightTypes.has(type)) return `its tensor ${name} has the type ${type} (ggml_type); convert it to f16`;
    if (!dimensions.every((size) => size >= 1)) return `its tensor ${name} has an impossible size`;
    const base = name.slice(0, -suffix.length);
    const [a, b] = suffixes.map((end) => own.get(base + end));
    if (!a || !b) return `its tensor ${name} is alone: the other one of ${base} is missing`;
    const target = model.get(base);
    if (!target) return `the model has no tensor ${base}`;
    // llama.cpp would multiply with them as if they were for the output, too.
    if (base === embeddings && !model.has('output.weight'))
      return `it changes ${embeddings}, which is the output of the model, too`;
    if (!fits(a, b, target)) return `its change of ${base} has another shape than that tensor`;
  }
  return undefined;
}

/** Whether the shapes of a change fit: A of [columns, rank], B of [rank, rows]; for embeddings [rank, rows] and [rank, columns]. */
function fits(a: TensorInfo, b: TensorInfo, target: TensorInfo): boolean {
  const [columns, rows, ...others] = sizesOf(target);
  const [ownColumns, rank, ...othersOfA] = sizesOf(a);
  const [rankOfB, ownRows, ...othersOfB] = sizesOf(b);
  if (String(others) !== String(othersOfA) || String(others) !== String(othersOfB)) return false;
  if (target.name === embeddings) return rank === rows && ownRows === columns && ownColumns === rankOfB;
  return ownColumns === columns && ownRows === rows && rank === rankOfB;
}

/** The four sizes of a tensor: those that a file leaves out are 1. */
const sizesOf = ({ dimensions }: TensorInfo): readonly number[] => [...dimensions, 1, 1, 1].slice(0, 4);

const byName = (tensors: readonly TensorInfo[]): Tensors => new Map(tensors.map((tensor) => [tensor.name, tensor]));
