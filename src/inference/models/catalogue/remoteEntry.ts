import type { RemoteModel } from '../../contract/model.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { errorsBelow, type FromSchema, type SchemaError } from '../../../protocol/schema.ts';
import { type modelSchema, type variantSchema, remoteProperties } from './modelSchema.ts';

type Model = FromSchema<typeof modelSchema>;
type Variant = FromSchema<typeof variantSchema>;

/** Properties of files, which a variant for the engine `http` does not have. */
const fileProperties = [
  'local_path',
  'huggingface_repo',
  'gpu',
  'gpu_layers',
  'sha256',
  'size_bytes',
  'lora',
  'server_args',
] as const;
const servedProperties = Object.keys(remoteProperties) as readonly (keyof typeof remoteProperties)[];

/** Whether inference servers on other machines run a model, so that it has no files here. */
export const isRemote = ({ variants: [variant] }: Pick<Model, 'variants'>): boolean => variant?.engine === 'http';

/** Where other machines serve a model; undefined: it is a file. */
export function remoteModelOf({
  variants: [variant],
  templateFile,
}: Pick<Model, 'variants'> & { readonly templateFile?: string | undefined }): RemoteModel | undefined {
  if (variant?.engine !== 'http') return undefined;
  const { api = 'llama-server', base_url: baseUrl = [], model, api_key_env: apiKeyEnv } = variant;
  return { api, baseUrls: typeof baseUrl === 'string' ? [baseUrl] : baseUrl, model, apiKeyEnv, templateFile };
}

/**
 * Errors of properties that a variant needs, or cannot have, with its engine. Pointers are relative to the entry.
 * @param written the variants as the file has them, without defaults.
 */
export const engineErrors = (
  { variants }: Model,
  written: readonly { readonly value: unknown }[],
): readonly SchemaError[] =>
  variants.flatMap((variant, index) => {
    const errors = variant.engine === 'http' ? remoteErrors(variant) : fileErrors(variant, written[index]?.value);
    return errorsBelow(`/variants/${index}/`, errors);
  });

function remoteErrors(variant: Variant): readonly SchemaError[] {
  const given = fileProperties.filter((name) => variant[name] !== undefined);
  const unfit = variant.files.length > 0 ? ['files', ...given] : given;
  return [
    ...(['api', 'base_url'] as const).filter((name) => variant[name] === undefined).map(missing),
    ...(variant.api === 'openai' && variant.chat_template === undefined ? [noChatTemplate] : []),
    ...unfit.map((pointer) => ({ pointer, message: 'is for the engine llama-cpp: remove it, or name that engine' })),
  ];
}

function fileErrors(variant: Variant, written: unknown): readonly SchemaError[] {
  const hasUselessArgs = variant.engine === 'llama-cpp' && variant.server_args !== undefined;
  const given = servedProperties.filter((name) => variant[name] !== undefined);
  return [
    ...(variant.files.length === 0 ? [isObject(written) && 'files' in written ? noFiles : missing('files')] : []),
    ...given.map((pointer) => ({ pointer, message: 'is for the engine http: remove it, or name that engine' })),
    ...(hasUselessArgs ? [uselessArgs] : []),
  ];
}

const uselessArgs: SchemaError = {
  pointer: 'server_args',
  message: 'is for the engine llama-server: remove it, or name that engine',
};
const missing = (pointer: string): SchemaError => ({ pointer, message: 'is missing' });
const noChatTemplate: SchemaError = {
  pointer: 'chat_template',
  message: 'is missing: servers with the api openai do not tell their chat template; name a file with it',
};
const noFiles: SchemaError = { pointer: 'files', message: 'must not be empty' };
