import type { ParameterLayout } from '../../../../../src/tools/native/layout.ts';

const json = { quote: '', true: 'true', false: 'false', null: 'null' };

/** `<arg=KEY>`, a line break, the value, a line break, `</arg>`, between `<call=NAME>` and `</call>`. */
export const linesLayout: ParameterLayout = {
  kind: 'parameters',
  values: 'tagged',
  open: '\n',
  separator: '\n',
  empty: '',
  key: '<arg=',
  string: { open: '>\n', close: '\n</arg>' },
  other: { open: '>\n', close: '\n</arg>' },
  style: { ...json, true: 'True', false: 'False', null: 'None' },
};

/** `<k>KEY</k>`, a line break, `<v>VALUE</v>`. */
export const pairsLayout: ParameterLayout = {
  ...linesLayout,
  open: '',
  key: '<k>',
  string: { open: '</k>\n<v>', close: '</v>' },
  other: { open: '</k>\n<v>', close: '</v>' },
  style: json,
};

/** `<p name="KEY" text="yes">VALUE</p>`, with "no" for values that are no strings. */
export const typedLayout: ParameterLayout = {
  ...pairsLayout,
  key: '<p name="',
  string: { open: '" text="yes">', close: '</p>' },
  other: { open: '" text="no">', close: '</p>' },
};
