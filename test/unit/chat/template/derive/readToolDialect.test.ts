import { describe, expect, it } from 'vitest';
import { readToolDialect } from '../../../../../src/chat/template/derive/readToolDialect.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import type { CallLayout, ParameterLayout } from '../../../../../src/chat/dialect/layout.ts';
import { writeCalls } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { dialectOf, layoutOf } from '../../../../helpers/templates/dialects.ts';
import { template } from '../../../../helpers/templates/frame.ts';
import { notationTemplates } from '../../../../helpers/templates/notations.ts';
import { trapTemplates } from '../../../../helpers/templates/traps.ts';
import { parseArguments } from '../../../../helpers/toolCalls.ts';

type Notation = keyof typeof notationTemplates;

const markOf = (layout: CallLayout): string =>
  writeCalls([{ id: 'k00000001', name: 'NAME', arguments: new Map() }], layout);

describe('the layout of calls', () => {
  it.each<[Notation, Partial<CallLayout>]>([
    ['chatml', { before: ['<tool_call>\n{"name": "'], after: ['}\n</tool_call>'], separator: '\n' }],
    ['jsonList', { open: '<calls>[', close: ']</calls>', separator: ', ', before: ['{"name": "'] }],
    ['nameAsKey', { before: ['{"'], between: ['": '], arguments: { kind: 'json', keys: nameAsKey } }],
    ['idAfter', { after: [', "id": "', { slot: 'id' }, '"}</do>'] }],
    ['countedIds', { before: ['{"call_id": "', { slot: 'index' }, '", "tool": "'], between: ['", "input": '] }],
    ['nameInMarks', { before: ['[TOOL_CALLS]'], between: ['[ARGS]'], after: [], separator: '' }],
    ['nameAndIdInMarks', { between: ['[CALL_ID]', { slot: 'id' }, '[ARGS]'] }],
    ['nameInId', { open: '<|calls|>', before: ['<|call|>functions.'], between: [':', { slot: 'index' }, '<|args|>'] }],
    ['lines', { open: '', before: ['<act>\n<to='], after: ['\n</to>\n</act>'] }],
    ['attributes', { open: '<acts>\n', close: '\n</acts>', before: ['<to name="'] }],
    ['python', { open: '<|acts|>[', close: ']<|/acts|>', before: [], after: [')'] }],
    ['channel', { header: '<|channel|>', before: ['work to=functions.'], separator: undefined, after: ['<|call|>'] }],
  ])('of %s is what the template writes', (notation, expected) => {
    expect(layoutOf(notationTemplates[notation])).toMatchObject(expected);
  });

  it.each<[Notation, Partial<ParameterLayout>]>([
    ['lines', { values: 'tagged', key: '<arg=', string: { open: '>\n', close: '\n</arg>' }, separator: '\n' }],
    ['pairs', { values: 'tagged', key: '<k>', string: { open: '</k><v>', close: '</v>' }, open: '', empty: '' }],
    ['attributes', { values: 'tagged', key: '<arg name="', string: { open: '">', close: '</arg>' } }],
    ['typedAttributes', { string: { open: '" string="true">', close: '</arg>' }, other: typedOther }],
    ['stringMarks', { values: 'keyValue', style: { ...json, quote: '<|"|>' }, open: '{', separator: ',' }],
    ['python', { values: 'python', style: { quote: '"', true: 'True', false: 'False', null: 'None' } }],
  ])('of %s has the marks of its parameters', (notation, expected) => {
    expect(layoutOf(notationTemplates[notation]).arguments).toMatchObject({ kind: 'parameters', ...expected });
  });

  it.each(Object.entries(notationTemplates))(
    'of %s proves itself, and is native unless it is chatml',
    (name, source) => {
      const dialect = dialectOf(source);
      expect(dialect).toMatchObject({ format: name === 'chatml' ? 'chatml' : 'native', knowsTools: true });
      expect(dialect.probes.filter(({ required, ok }) => required && !ok)).toEqual([]);
    },
  );

  it('says what a notation cannot write: the mark that ends a raw string', () => {
    const { probes } = dialectOf(notationTemplates.pairs);
    expect(probes.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['a string with "</v>"']);
  });
});

const nameAsKey = { name: undefined, arguments: '' };
const typedOther = { open: '" string="false">', close: '</arg>' };
const json = { true: 'true', false: 'false', null: 'null' };

describe('what a template takes and leaves out', () => {
  it.each<[keyof typeof trapTemplates, object]>([
    ['stringArguments', { arguments: 'string', content: '' }],
    ['nullContent', { arguments: 'object', content: null }],
    // An object where text is expected is written as Python writes it: the layout is that of the text.
    ['objectsInPython', { arguments: 'string', content: '' }],
  ])('%s: calls are given to it as it takes them', (name, convention) => {
    const { format, layout, convention: found } = dialectOf(trapTemplates[name]);
    expect(format).toBe('native');
    expect(found).toMatchObject(convention);
    expect(layout && markOf(layout)).toBe('<do>{"name": "NAME", "arguments": {}}</do>');
  });

  it('gives the id as functions.NAME:0 to a template that writes it in place of the name', () => {
    expect(dialectOf(notationTemplates.nameInId).convention).toMatchObject({ ids: 'functions' });
  });

  it.each([
    ['raisesOnTwoCalls', 'the template refuses it: only one call is supported'],
    ['firstCallOnly', 'the template does not write each call'],
  ] as const)('%s: one call in a message is a limit of the template', (name, why) => {
    const { format, layout, probes } = dialectOf(trapTemplates[name]);
    expect(format).toBe('native');
    expect(layout?.separator).toBeUndefined();
    expect(probes.find((probe) => probe.name === 'two calls in one message')).toMatchObject({ required: false, why });
  });

  it('a type that it refuses is a limit, too; how it writes true and false is still found out', () => {
    const { format, probes } = dialectOf(trapTemplates.raisesOnNullType);
    expect(format).toBe('native');
    expect(probes.filter(({ ok }) => !ok)).toMatchObject([
      { name: 'null', why: 'the template refuses it: unknown type' },
    ]);
    const { arguments: layout } = layoutOf(trapTemplates.pythonBooleans);
    expect(layout).toMatchObject({ style: { true: 'True', false: 'False' } });
  });

  it.each(['sortedKeys', 'escapesNonAscii', 'emptyReasoning', 'sectionOfTwo', 'closeOfTwo'] as const)(
    '%s: makes no difference to a call',
    (name) => {
      expect(dialectOf(trapTemplates[name]).format).toBe('native');
      expect(markOf(layoutOf(trapTemplates[name]))).toBe('<do>{"name": "NAME", "arguments": {}}</do>');
    },
  );

  it.each([
    ['noTools', 'its chat template knows no tools', false],
    ['noCalls', 'its chat template shows no calls: the message has no call', true],
  ] as const)('%s: no format is proved', (name, because, knowsTools) => {
    expect(dialectOf(trapTemplates[name])).toMatchObject({ format: undefined, layout: undefined, because, knowsTools });
  });

  it('a template that shows tools as a known family does, but leaves calls out, has the layout of that family', () => {
    expect(dialectOf(trapTemplates.noCallsKnown)).toMatchObject({
      format: 'chatml',
      because: 'its chat template leaves calls out, and its prompt is that of Qwen and Hermes',
    });
  });

  it.each([
    ['quotedArguments', 'a string with quotes is refused by the grammar'],
    ['nameTwice', 'a call of another tool is refused by the grammar'],
  ] as const)('%s: what no notation explains is not used, and the probe is named', (name, because) => {
    const dialect = dialectOf(trapTemplates[name]);
    expect(dialect).toMatchObject({ format: undefined, layout: undefined });
    expect(dialect.because).toContain(`its chat template proves no format: ${because}`);
  });
});

describe('a hostile template', () => {
  const failing = (error: unknown) => () => {
    throw error;
  };

  it.each([
    ['an error', failing(new Error('no'))],
    ['a string', failing('no')],
    ['nothing', failing(undefined)],
    [
      'an overflow of the stack',
      function overflow(): string {
        return overflow() + overflow();
      },
    ],
  ])('that throws %s has no dialect', (_name, render) => {
    expect(readToolDialect(render, formats)).toMatchObject({ format: undefined, layout: undefined, knowsTools: false });
  });

  it.each<[string, string]>([
    ['writes nothing', ''],
    ['writes the same text for everything', 'lamp_zq_tool door_zq_tool Zqword question. Zqword answer.'],
    ['has the probe words in its own text', template({ calls: `{{- 'Zqword one lamp_zq_tool alpha_zq 48151' -}}` })],
    [
      'writes each message twice',
      `{%- for m in messages + messages -%}{{- m.content ~ m.tool_calls | tojson -}}{%- endfor -%}`,
    ],
    [
      'writes messages from the last to the first',
      `{%- for m in messages | reverse -%}{{- m.content ~ m.tool_calls | tojson -}}{%- endfor -%}`,
    ],
    ['writes only marks', template({ calls: `{{- '<a><b></b></a>' -}}` })],
    [
      'writes only names',
      template({ calls: `{%- for call in message.tool_calls -%}{{- call.function.name -}}{%- endfor -%}` }),
    ],
    [
      'writes arguments before the name',
      template({
        calls: `{%- for call in message.tool_calls -%}{{- '<c>' ~ call.function.arguments | tojson ~ '|' ~ call.function.name ~ '</c>' -}}{%- endfor -%}`,
      }),
    ],
    [
      'swaps the names of two calls',
      template({
        calls: `{%- for call in message.tool_calls | reverse -%}{{- '<c>' ~ call.function.name ~ call.function.arguments | tojson ~ '</c>' -}}{%- endfor -%}`,
      }),
    ],
    [
      'writes values without keys',
      template({
        calls: `{%- for call in message.tool_calls -%}{{- '<c>' ~ call.function.name ~ ':' ~ call.function.arguments.values() | join(',') ~ '</c>' -}}{%- endfor -%}`,
      }),
    ],
    [
      'drops the second argument',
      template({
        calls: `{%- for call in message.tool_calls -%}{{- '<c>' ~ call.function.name ~ ' ' ~ {'alpha_zq': call.function.arguments.alpha_zq} | tojson ~ '</c>' -}}{%- endfor -%}`,
      }),
    ],
  ])('that %s proves no format', (_what, source) => {
    const dialect = dialectOf(source);
    expect(dialect).toMatchObject({ format: undefined, layout: undefined });
    expect(dialect.because).not.toBe('');
    expect(dialect.probes.some(({ required, ok }) => required && !ok)).toBe(true);
  });

  it('that numbers its renderings has no layout that depends on the number', () => {
    let count = 0;
    const { layout } = readToolDialect(
      ({ messages }) => `${messages.map((m) => m.content).join()} ${count++}`,
      formats,
    );
    expect(layout).toBeUndefined();
  });

  it('that writes a long text before all messages is read as any other', () => {
    const padding = '<pad> text '.repeat(2000);
    const source = `${padding}${notationTemplates.nameInMarks}`;
    expect(layoutOf(source)).toEqual(layoutOf(notationTemplates.nameInMarks));
  });
});

describe('the layout that was read', () => {
  const call = { id: 'k00000001', name: 'lamp', arguments: parseArguments({ place: 'attic', level: 3 }) };
  it.each<[Notation, string]>([
    ['idAfter', '<do>{"name": "lamp", "arguments": {"place": "attic", "level": 3}, "id": "k00000001"}</do>'],
    ['lines', '<act>\n<to=lamp>\n<arg=place>\nattic\n</arg>\n<arg=level>\n3\n</arg>\n</to>\n</act>'],
    [
      'typedAttributes',
      '<acts>\n<to name="lamp">\n<arg name="place" string="true">attic</arg>\n<arg name="level" string="false">3</arg>\n</to>\n</acts>',
    ],
    ['stringMarks', '<|act>to:lamp{place:<|"|>attic<|"|>,level:3}<act|>'],
    ['python', '<|acts|>[lamp(place="attic", level=3)]<|/acts|>'],
    ['channel', '<|channel|>work to=functions.lamp <|format|>json<|message|>{"place": "attic", "level": 3}<|call|>'],
  ])('of %s writes a call as the template does', (notation, expected) => {
    expect(writeCalls([call], layoutOf(notationTemplates[notation]))).toBe(expected);
  });
});
