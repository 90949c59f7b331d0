// Layouts of native tool calls for the fuzzer and the benchmarks, as they are read off the templates of the tests, and
// what a model writes in each.
/** @typedef {import('../src/chat/dialect/layout.ts').CallLayout} CallLayout */

const frame = { header: '', open: '', close: '', separator: '', end: '<|end|>' };
const style = { quote: '', true: 'true', false: 'false', null: 'null' };

/** @type {Readonly<Record<string, { layout: CallLayout, outputs: readonly string[] }>>} */
export const nativeLayouts = {
  jsonList: {
    layout: {
      ...frame,
      open: '<calls>[',
      close: ']</calls>',
      separator: ', ',
      before: ['{"name": "'],
      between: ['", "arguments": '],
      after: ['}'],
      arguments: { kind: 'json', keys: { name: 'name', arguments: 'arguments' } },
    },
    outputs: [
      '<calls>[{"name": "get_tide", "arguments": {"port": "Oban"}}, {"name": "roll", "arguments": {"sides": 6}}]</calls>',
      'Both.\n<calls>[{"name": "note", "arguments": {"body": "a ]</calls> in it"}}]</calls><|end|>',
    ],
  },
  nameInMarks: {
    layout: {
      ...frame,
      before: ['[TOOL_CALLS]'],
      between: ['[ARGS]'],
      after: [],
      arguments: { kind: 'json', keys: undefined },
    },
    outputs: [
      '[TOOL_CALLS]get_tide[ARGS]{"port": "Oban", "days": [1, 2]}[TOOL_CALLS]roll[ARGS]{}',
      '[THINK]tide[/THINK]Well.[TOOL_CALLS]note[ARGS]{"body": "[TOOL_CALLS]x[ARGS]{}"}',
    ],
  },
  nameInId: {
    layout: {
      ...frame,
      open: '<|calls|>',
      close: '<|/calls|>',
      before: ['<|call|>functions.'],
      between: [':', { slot: 'index' }, '<|args|>'],
      after: ['<|/call|>'],
      arguments: { kind: 'json', keys: undefined },
    },
    outputs: [
      '<|calls|><|call|>functions.get_tide:0<|args|>{"port": "Oban"}<|/call|><|call|>functions.roll:1<|args|>{}<|/call|><|/calls|>',
    ],
  },
  lines: {
    layout: {
      ...frame,
      separator: '\n',
      before: ['<act>\n<to='],
      between: [],
      after: ['\n</to>\n</act>'],
      arguments: {
        kind: 'parameters',
        values: 'tagged',
        open: '>\n',
        separator: '\n',
        empty: '>',
        key: '<arg=',
        string: { open: '>\n', close: '\n</arg>' },
        other: { open: '>\n', close: '\n</arg>' },
        style,
      },
    },
    outputs: [
      '<act>\n<to=get_tide>\n<arg=port>\nOban\n</arg>\n<arg=days>\n[1, 2]\n</arg>\n</to>\n</act>\n<act>\n<to=roll>\n</to>\n</act>',
      '<think>\nHm.\n</think>\n\n<act>\n<to=note>\n<arg=body>\na </arg> and <act>\n\n  in it\n</arg>\n</to>\n</act><|end|>',
    ],
  },
  typedAttributes: {
    layout: {
      ...frame,
      open: '<acts>\n',
      close: '\n</acts>',
      separator: '\n',
      before: ['<to name="'],
      between: [],
      after: ['\n</to>'],
      arguments: {
        kind: 'parameters',
        values: 'tagged',
        open: '">\n',
        separator: '\n',
        empty: '">',
        key: '<arg name="',
        string: { open: '" string="true">', close: '</arg>' },
        other: { open: '" string="false">', close: '</arg>' },
        style,
      },
    },
    outputs: [
      '<acts>\n<to name="get_tide">\n<arg name="port" string="true">Oban</arg>\n<arg name="days" string="false">[1]</arg>\n</to>\n<to name="roll">\n</to>\n</acts>',
    ],
  },
  stringMarks: {
    layout: {
      ...frame,
      before: ['<|act>to:'],
      between: [],
      after: ['}<act|>'],
      arguments: {
        kind: 'parameters',
        values: 'keyValue',
        open: '{',
        separator: ',',
        empty: '{',
        key: '',
        string: { open: ':', close: '' },
        other: { open: ':', close: '' },
        style: { ...style, quote: '<|"|>' },
      },
    },
    outputs: [
      '<|act>to:get_tide{port:<|"|>Oban<|"|>,days:[1,<|"|>two<|"|>],deep:{a:{b:null}}}<act|><|act>to:roll{}<act|>',
      'Yes.<|act>to:note{body:<|"|>a } and , or "<act|>"<|"|>}<act|><|end|>',
    ],
  },
  python: {
    layout: {
      ...frame,
      open: '<|acts|>[',
      close: ']<|/acts|>',
      separator: ', ',
      before: [],
      between: [],
      after: [')'],
      arguments: {
        kind: 'parameters',
        values: 'python',
        open: '(',
        separator: ', ',
        empty: '(',
        key: '',
        string: { open: '=', close: '' },
        other: { open: '=', close: '' },
        style: { quote: '"', true: 'True', false: 'False', null: 'None' },
      },
    },
    outputs: [
      '<|acts|>[get_tide(port="Oban", days=[1, 2], deep={"a": None}), roll()]<|/acts|>',
      '<|acts|>[note(body="a \\"b\\", c=1)]", on=True)]<|/acts|>\nDone.',
    ],
  },
  channel: {
    layout: {
      ...frame,
      header: '<|channel|>',
      separator: undefined,
      before: ['work to=functions.'],
      between: [' <|format|>json<|message|>'],
      after: ['<|call|>'],
      arguments: { kind: 'json', keys: undefined },
    },
    outputs: ['<|channel|>work to=functions.get_tide <|format|>json<|message|>{"port": "Oban"}<|call|>'],
  },
};

/**
 * The formats of the layouts, by `native NAME`.
 * @param {typeof import('../src/chat/dialect/nativeFormat.ts').nativeFormat} nativeFormat
 */
export const nativeFormats = (nativeFormat) =>
  new Map(Object.entries(nativeLayouts).map(([name, { layout }]) => [`native ${name}`, nativeFormat(layout)]));

/**
 * What a model writes in a format of `nativeFormats`; undefined for another format.
 * @param {string} name
 */
export const nativeOutputs = (name) => nativeLayouts[name.replace(/^native /, '')]?.outputs;
