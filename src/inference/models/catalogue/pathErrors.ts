import { findPathProblem } from '../../../base/filesystem.ts';
import type { FromSchema, SchemaError } from '../../../protocol/schema.ts';
import type { modelSchema } from './modelSchema.ts';

/** Errors of file names that are others, or none, on some system. Pointers are relative to the entry. */
export const pathErrors = ({ variants }: FromSchema<typeof modelSchema>): readonly SchemaError[] =>
  variants.flatMap(({ files, huggingface_repo: repo = 'none', revision }, index) => {
    const paths: readonly (readonly [place: string, path: string])[] = [
      ...files.map((file, place) => [`files/${place}`, file] as const),
      ['huggingface_repo', repo],
      // A folder has the revision after the name of the repository, so only its end counts.
      ['revision', `@${encodeURIComponent(revision)}`],
    ];
    return paths.flatMap(([place, path]) => {
      const message = findPathProblem(path);
      return message === undefined ? [] : [{ pointer: `/variants/${index}/${place}`, message }];
    });
  });
