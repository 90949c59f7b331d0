import { resolve } from 'node:path';
import { hubUrlPattern } from '../../download/target.ts';
import type { FromSchema, ObjectSchema, SchemaError } from '../../../protocol/schema.ts';

/** JSON Schema of a LoRA adapter of a variant. */
export const loraSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    file: {
      type: 'string',
      minLength: 1,
      maxLength: 1000,
      description: 'A GGUF file of your own, relative to the catalogue; absent = it is downloaded from url.',
    },
    url: {
      type: 'string',
      maxLength: 1000,
      pattern: hubUrlPattern,
      description:
        'https://huggingface.co/OWNER/NAME/resolve/REVISION/FILE.gguf, from where it is downloaded; absent = it is file.',
    },
    scale: {
      type: 'number',
      minimum: -10,
      maximum: 10,
      default: 1,
      description: 'What its changes are multiplied by; 0 = none.',
    },
    sha256: {
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
      description: 'Hash of the file; absent = as the repository reports.',
    },
    size_bytes: { type: 'integer', minimum: 1, description: 'Size of the file; absent = as the repository reports.' },
  },
} as const satisfies ObjectSchema;

/** What adapters need of a variant. */
interface AdaptedVariant {
  readonly lora?: readonly FromSchema<typeof loraSchema>[];
}

/** Errors of the adapters of an entry. Pointers are relative to it. */
export const loraErrors = (
  variants: readonly AdaptedVariant[],
  purpose: 'chat' | 'embedding',
): readonly SchemaError[] =>
  variants.flatMap(({ lora = [] }, variant) => {
    const place = `/variants/${variant}/lora`;
    const useless = 'is for chat models: remove it, or the purpose';
    if (purpose === 'embedding' && lora.length > 0) return [{ pointer: place, message: useless }];
    const sources = lora.map(({ file, url }) => file ?? url);
    return lora.flatMap(({ file, url }, index) => {
      const pointer = `${place}/${index}`;
      if ((file === undefined) === (url === undefined)) return [{ pointer, message: 'must have either file or url' }];
      const first = sources.indexOf(file ?? url);
      return first < index ? [{ pointer, message: `is the same as ${place}/${first}: add up their scales` }] : [];
    });
  });

/** The absolute paths of the adapters of a model, in their order; undefined: that one is downloaded, or the model has none. */
export const loraPaths = (
  [variant]: readonly AdaptedVariant[],
  catalogueFolder: string,
): readonly (string | undefined)[] | undefined =>
  variant?.lora?.map(({ file }) => (file === undefined ? undefined : resolve(catalogueFolder, file)));
