import type { CallMarkup } from '../callMarkup.ts';
import { commonMarkup } from '../reply/detect/tags.ts';
import type { Formats } from '../formats/index.ts';
import { nativeMarkup } from './read/nativeTags.ts';
import type { ToolCallFormat } from '../tool.ts';
import { nativeFormat, nativeFormatName } from './nativeFormat.ts';
import type { ToolDialect } from './toolDialect.ts';

/** The formats that a model can be used with: all, and `native` where its chat template proves a layout of its own. */
export function formatsOf({ layout }: ToolDialect, formats: Formats): Formats {
  return layout ? new Map<string, ToolCallFormat>([...formats, [nativeFormatName, nativeFormat(layout)]]) : formats;
}

/** The marks around the calls of a model, whatever format it is used with. */
export const markupOf = ({ layout }: ToolDialect): CallMarkup => (layout ? nativeMarkup(layout) : commonMarkup);

/** Why the chat template of a model that knows tools gives no format: a warning; "" = it gives one, or knows no tools. */
export function dialectWarning({ format, knowsTools, because }: ToolDialect): string {
  return format === undefined && knowsTools
    ? `the model's tool calls may not be read, for ${because}; "turngraph tools formats" shows the probes; name a format, or set strict`
    : '';
}
