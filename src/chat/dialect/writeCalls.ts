import type { WrittenCall } from '../calls.ts';
import { stringifyJson } from '../json/value.ts';
import type { CallLayout, LayoutPart } from './layout.ts';
import { writeParameters } from './values/parameterList.ts';

/** The text of calls in a layout, as the model's chat template writes them. */
export function writeCalls(calls: readonly WrittenCall[], layout: CallLayout): string {
  const written = calls.map((call, index) => writeCall(call, index, layout));
  return `${layout.header}${layout.open}${written.join(layout.separator ?? '\n')}${layout.close}`;
}

function writeCall({ id, name, arguments: args }: WrittenCall, index: number, layout: CallLayout): string {
  const write = (parts: readonly LayoutPart[]): string =>
    parts.map((part) => (typeof part === 'string' ? part : part.slot === 'id' ? id : String(index))).join('');
  const { before, between, after, arguments: notation } = layout;
  const writtenArguments = notation.kind === 'json' ? stringifyJson(args) : writeParameters(args, notation);
  return `${write(before)}${name}${write(between)}${writtenArguments}${write(after)}`;
}
