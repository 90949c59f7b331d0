import type { CallLayout } from '../../src/chat/dialect/layout.ts';
import { keyValueLayout, linesLayout, pythonLayout } from './parameterLayouts.ts';

/** `<calls><call>NAME<args>{...}</call></calls>` */
export const namedJsonCalls: CallLayout = {
  header: '',
  open: '<calls>',
  close: '</calls>',
  separator: '',
  end: '',
  before: ['<call>'],
  between: ['<args>'],
  after: ['</call>'],
  arguments: { kind: 'json', keys: undefined },
};

/** `<tool>`, a line break, `<do=NAME>`, lines of parameters, `</do>`, a line break, `</tool>` */
export const linesCalls: CallLayout = {
  ...namedJsonCalls,
  open: '',
  close: '',
  before: ['<tool>\n<do='],
  between: ['>'],
  after: ['\n</do>\n</tool>'],
  arguments: linesLayout,
};

/** `<tool>call:NAME{...}</tool>` */
export const keyValueCalls: CallLayout = {
  ...linesCalls,
  before: ['<tool>call:'],
  between: [],
  after: ['}</tool>'],
  arguments: keyValueLayout,
};

/** `<calls>[NAME(...), NAME(...)]</calls>` */
export const pythonCalls: CallLayout = {
  ...linesCalls,
  open: '<calls>[',
  close: ']</calls>',
  separator: ', ',
  before: [],
  between: [],
  after: [')'],
  arguments: pythonLayout,
};
