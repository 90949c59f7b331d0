import type { JinjaFilter } from '../runtime.ts';
import { listFilters } from './lists.ts';
import { numberFilters } from './numbers.ts';
import { textFilters } from './text.ts';

/** The filters of Jinja, with the `tojson` of Hugging Face's transformers. */
export const jinjaFilters: ReadonlyMap<string, JinjaFilter> = new Map([
  ...textFilters,
  ...numberFilters,
  ...listFilters,
]);
