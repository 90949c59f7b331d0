import { byteToken, type GgufHeader, type NumberList, type TensorInfo } from './header.ts';

/** Why llama.cpp would abort on a hyperparameter; undefined = nothing is known. */
type Check = (model: Hyperparameters) => string | undefined;

/** Room of llama.cpp: `LLAMA_MAX_LAYERS` and `LLAMA_MAX_EXPERTS`. */
const maxLayers = 512;
const maxExperts = 512;
/** llama.cpp calculates with 32 bits; no model comes near these. */
const maxCount = 2 ** 31 - 1;
const maxHeadSize = 65_536;
const ropeScalingTypes = ['none', 'linear', 'yarn', 'longrope'];

/**
 * Finds a hyperparameter that llama.cpp aborts the process on: its assertions at the load and in the first graph. Only keys
 * that are present are checked, and only against what holds for every architecture: an unusual model must load.
 */
export function findHyperparameterProblem(header: GgufHeader): string | undefined {
  const model = new Hyperparameters(header);
  for (const check of checks) {
    const problem = check(model);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The values of a model's architecture, such as `llama.block_count`. */
class Hyperparameters {
  readonly header: GgufHeader;
  readonly architecture: string;

  constructor(header: GgufHeader) {
    this.header = header;
    this.architecture = String(header.values.get('general.architecture'));
  }

  /** Keys of the architecture, without it in front. */
  get keys(): readonly string[] {
    const prefix = `${this.architecture}.`;
    return [...this.header.values.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
  }

  /** A single value; undefined = absent, or an array. */
  value(key: string): string | number | boolean | undefined {
    const name = `${this.architecture}.${key}`;
    return this.header.lists.has(name) ? undefined : this.header.values.get(name);
  }

  number(key: string): number | undefined {
    const value = this.value(key);
    return typeof value === 'number' ? value : undefined;
  }

  list(key: string): NumberList | undefined {
    return this.header.lists.get(`${this.architecture}.${key}`);
  }

  /** The length of an array by its whole key; undefined = there is none. */
  lengthOf(key: string): number | undefined {
    const length = this.header.values.get(key);
    return typeof length === 'number' ? length : undefined;
  }

  hasTensor(pattern: RegExp): boolean {
    return this.findTensor(pattern) !== undefined;
  }

  findTensor(pattern: RegExp, isWanted: (tensor: TensorInfo) => boolean = () => true): TensorInfo | undefined {
    return this.header.tensors.find((tensor) => pattern.test(tensor.name) && isWanted(tensor));
  }

  /** The problem of the first of some keys whose number is wrong. */
  problemOf(keys: readonly string[], isWrong: (value: number) => boolean, why = ''): string | undefined {
    const key = keys.find((name) => {
      const value = this.number(name);
      return value !== undefined && isWrong(value);
    });
    return key === undefined ? undefined : this.problem(key, undefined, why);
  }

  problem(key: string, value: unknown = this.value(key), why = ''): string {
    return `its ${this.architecture}.${key} is ${String(value)}${why && `, ${why}`}`;
  }
}

const separateKeys = /\.attn_k\.weight$/;
/** Layers that remember without attention: in their models, a count of heads may be 0. */
const recurrentLayers = /\.(?:ssm_|shortconv|time_mix)/;

const layers: Check = (model) =>
  model.problemOf(['block_count'], (count) => count > maxLayers, `and llama.cpp has room for ${maxLayers} layers`);

const counts: Check = (model) => {
  const keys = ['context_length', 'embedding_length', 'feed_forward_length', 'attention.head_count'];
  return model.problemOf(keys, (count) => count > maxCount);
};

// llama.cpp reads lists of layers as they are: one of another type aborts.
const lists: Check = (model) => {
  const key = ['feed_forward_length', 'attention.head_count', 'attention.head_count_kv'].find((name) =>
    ['f32', 'text'].includes(model.list(name)?.kind ?? ''),
  );
  return key === undefined ? undefined : model.problem(key, `a list of ${model.list(key)?.kind}`);
};

const keyValueHeads: Check = (model) => {
  const key = 'attention.head_count_kv';
  if (!model.hasTensor(separateKeys)) return undefined;
  const [heads, count, list] = [model.number('attention.head_count'), model.number(key), model.list(key)?.numbers];
  if (count === 0 && !model.hasTensor(recurrentLayers)) return model.problem(key);
  // In a list 0 is a layer without attention.
  for (const entry of list ?? (count === undefined ? [] : [count])) {
    const isPossible = Number.isInteger(entry) && entry >= 0 && entry <= maxCount;
    if (!isPossible) return model.problem(key, entry);
    if (heads !== undefined && heads > 0 && entry > 0 && heads % entry !== 0)
      return model.problem(key, entry, `which does not divide the ${heads} heads`);
  }
  return undefined;
};

const headSizes: Check = (model) => {
  if (!model.hasTensor(/\.attn_(?:k|v|qkv|kv_b)\.weight$/)) return undefined;
  return model.problemOf(['attention.key_length', 'attention.value_length'], (size) => size < 1 || size > maxHeadSize);
};

const rotation: Check = (model) => {
  for (const suffix of ['', '_swa']) {
    const key = `rope.dimension_count${suffix}`;
    const size = model.number(key);
    if (size === undefined) continue;
    if (size < 0 || size % 2 !== 0) return model.problem(key, size, 'and it must be even');
    const headSize = headSizeOf(model, suffix);
    if (headSize !== undefined && size > headSize) return model.problem(key, size, `and a head has ${headSize} values`);
  }
  return undefined;
};

/** Architectures whose graph in llama.cpp asserts that keys, values and rotation have one size, that of the heads of attn_q. */
const uniformArchitectures = new Set(
  'llama mistral3 olmo olmo2 olmoe smollm3 internlm2 starcoder2 exaone seed_oss qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe'.split(
    ' ',
  ),
);

const uniformHeads: Check = (model) => {
  const [size, heads] = [headSizeOf(model, ''), model.number('attention.head_count')];
  if (!uniformArchitectures.has(model.architecture) || size === undefined || !heads) return undefined;
  const valueSize =
    model.number('attention.value_length') ?? Math.floor((model.number('embedding_length') ?? 0) / heads);
  if (valueSize !== size) return `its heads have keys of ${size} values, and values of ${valueSize}`;
  const rotated = model.number('rope.dimension_count') ?? size;
  if (rotated !== size) return model.problem('rope.dimension_count', rotated, `and a head has ${size} values`);
  const queries = model.findTensor(/^blk\.\d+\.attn_q\.weight$/, ({ dimensions }) => dimensions[1] !== heads * size);
  if (!queries) return undefined;
  return `its ${queries.name} has ${queries.dimensions[1]} rows for ${heads} heads of ${size}`;
};

function headSizeOf(model: Hyperparameters, suffix: string): number | undefined {
  const size = model.number(`attention.key_length${suffix}`) ?? model.number('attention.key_length');
  const [width, heads] = [model.number('embedding_length'), model.number('attention.head_count')];
  if (size !== undefined || width === undefined || heads === undefined || heads === 0) return size;
  return Math.floor(width / heads);
}

const epsilons: Check = (model) => {
  const keys = model.keys.filter((name) => name.endsWith('epsilon'));
  return model.problemOf(keys, (epsilon) => !(epsilon >= 0 && epsilon < Infinity));
};

const experts: Check = (model) => {
  const [all, used] = [model.number('expert_count') ?? 0, model.number('expert_used_count') ?? 0];
  if (all > maxExperts) return model.problem('expert_count', all, `and llama.cpp has room for ${maxExperts} experts`);
  // The architectures of Hunyuan count one expert where there is none.
  if (model.architecture.startsWith('hunyuan')) return undefined;
  return used > all || (all > 0 && used === 0)
    ? model.problem('expert_used_count', used, `of ${all} experts`)
    : undefined;
};

const ropeScaling: Check = (model) => {
  const type = model.value('rope.scaling.type');
  return typeof type !== 'string' || ropeScalingTypes.includes(type)
    ? undefined
    : model.problem('rope.scaling.type', JSON.stringify(type.slice(0, 40)));
};

// llama.cpp reads these lists as far as it has tokens.
const vocabulary: Check = (model) => {
  const tokens = model.lengthOf('tokenizer.ggml.tokens') ?? 0;
  const key = ['tokenizer.ggml.scores', 'tokenizer.ggml.token_type'].find(
    (name) => (model.lengthOf(name) ?? tokens) < tokens,
  );
  return key === undefined ? undefined : `its ${key} has ${model.lengthOf(key)} entries for ${tokens} tokens`;
};

// The tokenizer "llama" (SentencePiece) splits a character that is no token into bytes, and ends the process at one without.
const byteTokens: Check = (model) => {
  const [missing] = model.header.bytesWithoutToken;
  if (missing === undefined || model.header.values.get('tokenizer.ggml.model') !== 'llama') return undefined;
  return `its vocabulary has no ${byteToken(missing)}: a text with such a character would end the process`;
};

const checks: readonly Check[] = [
  layers,
  counts,
  lists,
  keyValueHeads,
  headSizes,
  rotation,
  uniformHeads,
  epsilons,
  experts,
  ropeScaling,
  vocabulary,
  byteTokens,
];
