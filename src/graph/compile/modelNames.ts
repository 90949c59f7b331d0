import { createReader, type FromSchema } from '../../protocol/schema.ts';
import { array, string } from '../../protocol/schemaBuilders.ts';

/** The schema of a parameter that names a model, or several, best first. "" = none. */
export const modelNames = (description: string) =>
  ({
    anyOf: [
      string({ editor: 'model' }, 'a name in models.json'),
      array(
        { minItems: 1, maxItems: 16, items: string({ minLength: 1, editor: 'model' }, 'A name in models.json.') },
        'a list of names, best first',
      ),
    ],
    default: '',
    description: `${description} A list = the first that is on disk, fits memory and is fast enough.`,
  }) as const;

/** A name of a model, or several, best first. */
export type ModelNames = FromSchema<ReturnType<typeof modelNames>>;

export const readModelNames = createReader({ anyOf: modelNames('').anyOf });

/** The names in a member of a graph that may have errors; "" = there are none. */
export function modelNamesIn(member: unknown): ModelNames {
  const reading = readModelNames(member ?? '');
  return reading.ok ? reading.value : '';
}
