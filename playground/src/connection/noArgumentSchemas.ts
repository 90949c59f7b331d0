/**
 * Stands for `src/client/executor/argumentSchemas.ts` in the page, which declares tools and runs none: the validator of
 * schemas and RE2 would be a sixth of all its script.
 */
export const isStandardSchema = (): never => refuse();

/** Never called: no tool of the page has `parameters`. */
export const compileJsonSchema = (): never => refuse();

/** Likewise. */
export const checkByStandardSchema = (): never => refuse();

function refuse(): never {
  throw new Error('the playground has no validator of arguments; declare tools without a function');
}
