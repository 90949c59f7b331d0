import { detect } from '../reply/detect/detect.ts';
import type { CallKeys } from '../reply/detect/callShape.ts';
import { functionJson } from '../formats/functionJson.ts';
import type { ToolCallFormat } from '../tool.ts';
import type { CallLayout } from './layout.ts';
import { nativeGrammar } from './nativeGrammar.ts';
import { nativeMarkup, nativeTags } from './read/nativeTags.ts';
import { writeCalls } from './writeCalls.ts';

/** Name of the format that is read off a model's chat template. */
export const nativeFormatName = 'native';

/** The format of a model's own layout of calls. */
export const nativeFormat = (layout: CallLayout): ToolCallFormat => ({
  name: nativeFormatName,
  place: 'system',
  markup: nativeMarkup(layout),
  render: (tools) => `# Tools

You can call these functions:
${tools.map(functionJson).join('\n')}

To call a function, write exactly this:
${exampleCall(layout)}`,
  renderCalls: (calls) => writeCalls(calls, layout),
  detect: (text, options) => detect(text, callKeys(layout), options, nativeTags(layout)),
  grammar: (tools, choice) => nativeGrammar(tools, choice, layout),
});

/** A call with placeholders, in a layout. */
export const exampleCall = (layout: CallLayout): string =>
  writeCalls(
    [{ id: 'a1b2c3d4e', name: '<function-name>', arguments: new Map([['<argument-name>', '<value>']]) }],
    layout,
  );

function callKeys({ arguments: notation }: CallLayout): CallKeys {
  const keys = notation.kind === 'json' ? notation.keys : undefined;
  return keys ?? { name: 'name', arguments: 'arguments' };
}
