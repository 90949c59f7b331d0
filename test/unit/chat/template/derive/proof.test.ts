import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../../src/chat/template/compileTemplate.ts';
import { marksOf, proofProbes } from '../../../../../src/chat/template/derive/probes.ts';
import { ProbeRenderer, writeProbes } from '../../../../../src/chat/template/derive/readToolDialect.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { many, type Rule } from '../../../../../src/chat/grammar/rule.ts';
import type { CallLayout, ParameterLayout } from '../../../../../src/chat/dialect/layout.ts';
import { nativeFormat } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { FormatProof, type WrittenProbe } from '../../../../../src/chat/template/derive/prove.ts';
import type { ToolCallFormat } from '../../../../../src/chat/tool.ts';
import { dialectOf, layoutOf } from '../../../../helpers/templates/dialects.ts';
import { notationTemplates } from '../../../../helpers/templates/notations.ts';

type Notation = keyof typeof notationTemplates;

/** What the template of a notation writes for all probes. */
function probesOf(notation: Notation): readonly WrittenProbe[] {
  const written = writtenProbes.get(notation) ?? writeAllProbes(notation);
  writtenProbes.set(notation, written);
  return written;
}

const writtenProbes = new Map<Notation, readonly WrittenProbe[]>();

function writeAllProbes(notation: Notation): readonly WrittenProbe[] {
  const source = notationTemplates[notation];
  const { convention } = dialectOf(source);
  if (!convention) throw new Error(`${notation} is not proved`);
  const renderer = new ProbeRenderer(compileTemplate(source, { bos: '', eos: '' }), convention);
  return writeProbes(proofProbes(marksOf(layoutOf(source))), renderer);
}

/** The required probes that a format fails, as `name why`. */
const failures = (format: ToolCallFormat, notation: Notation): readonly string[] =>
  new FormatProof(format, probesOf(notation))
    .verdicts()
    .flatMap(({ name, required, ok, why }) => (required && !ok ? [`${name} ${why}`] : []));

function withParameters(layout: CallLayout, change: Partial<ParameterLayout>): CallLayout {
  if (layout.arguments.kind !== 'parameters') throw new Error('the layout has no parameters');
  return { ...layout, arguments: { ...layout.arguments, ...change } };
}

const anyChar: Rule = { kind: 'char', ranges: [[0, 0x10ffff]] };
const style = { quote: '', true: 'true', false: 'false', null: 'null' };

type Damage = (layout: CallLayout) => CallLayout;

describe('a planted wrong derivation', () => {
  it.each<[Notation, string, Damage, string]>([
    [
      'nameInMarks',
      'the marks of name and arguments swapped',
      ({ before, between, ...rest }) => ({ ...rest, before: between, between: before }),
      'one call is refused by the grammar',
    ],
    [
      'jsonList',
      'the texts before the name and before the arguments swapped',
      ({ before, between, ...rest }) => ({ ...rest, before: between, between: before }),
      'one call is refused by the grammar',
    ],
    [
      'countedIds',
      'the key of the name is that of the id',
      (layout) => ({ ...layout, arguments: { kind: 'json', keys: { name: 'call_id', arguments: 'input' } } }),
      'one call is read as',
    ],
    [
      'countedIds',
      'the key of the arguments is another one',
      (layout) => ({ ...layout, arguments: { kind: 'json', keys: { name: 'tool', arguments: 'call_id' } } }),
      'one call is read as no call',
    ],
    [
      'nameAsKey',
      'the name stands under a key',
      (layout) => ({ ...layout, arguments: { kind: 'json', keys: { name: 'name', arguments: 'arguments' } } }),
      'one call is read as no call',
    ],
    [
      'nameInId',
      'the number of the call taken for an id',
      (layout) => ({ ...layout, between: [':', { slot: 'id' }, '<|args|>'] }),
      'one call is refused by the grammar',
    ],
    [
      'idAfter',
      'the id of the probes taken for text',
      (layout) => ({ ...layout, after: [', "id": "zqid00001"}</do>'] }),
      'two calls in one message is refused by the grammar',
    ],
    ['jsonList', 'no mark of the section', (layout) => ({ ...layout, open: '' }), 'one call is refused by the grammar'],
    [
      'jsonList',
      'another mark of the section',
      (layout) => ({ ...layout, open: '<call>[' }),
      'one call is refused by the grammar',
    ],
    [
      'jsonList',
      'no closing mark of the section',
      (layout) => ({ ...layout, close: '' }),
      'one call has a mark that the grammar leaves open',
    ],
    [
      'idAfter',
      'no closing mark of a call',
      (layout) => ({ ...layout, after: [', "id": "', { slot: 'id' }, '"}'] }),
      'one call has a mark that the grammar leaves open: "<do>"',
    ],
    [
      'pairs',
      'no closing mark of a call',
      (layout) => ({ ...layout, after: [] }),
      'one call is accepted by the grammar when it is cut off',
    ],
    [
      'lines',
      'a closing mark of two left out',
      (layout) => ({ ...layout, after: ['\n</to>'] }),
      'one call has a mark that the grammar leaves open: "<act>"',
    ],
    [
      'jsonList',
      'another text between two calls',
      (layout) => ({ ...layout, separator: '; ' }),
      'two calls in one message is refused by the grammar',
    ],
    [
      'python',
      'another text between two calls',
      (layout) => ({ ...layout, separator: '\n' }),
      'two calls in one message is read as',
    ],
    [
      'lines',
      'another text between two parameters',
      (layout) => withParameters(layout, { separator: ', ' }),
      'one call is refused by the grammar',
    ],
    [
      'lines',
      'no line break before a value',
      (layout) => withParameters(layout, { string: { open: '>', close: '\n</arg>' } }),
      'one call is ',
    ],
    ['pairs', 'another mark of the key', (layout) => withParameters(layout, { key: '<v>' }), 'one call is '],
    [
      'pairs',
      'another mark after a value',
      (layout) => withParameters(layout, { string: { open: '</k><v>', close: '</k>' } }),
      'one call is ',
    ],
    [
      'typedAttributes',
      'the marks of strings and of other values swapped',
      (layout) => {
        const { arguments: a } = layout;
        return a.kind === 'json' ? layout : withParameters(layout, { string: a.other, other: a.string });
      },
      'one call is ',
    ],
    [
      'typedAttributes',
      'strings marked as other values',
      (layout) => {
        const { arguments: a } = layout;
        return a.kind === 'json' ? layout : withParameters(layout, { string: a.other });
      },
      'one call is ',
    ],
    [
      'stringMarks',
      'other marks around a string',
      (layout) => withParameters(layout, { style: { ...style, quote: '"' } }),
      'one call is ',
    ],
    [
      'python',
      'another quote',
      (layout) =>
        withParameters(layout, { style: { ...style, quote: "'", true: 'True', false: 'False', null: 'None' } }),
      'one call is refused by the grammar',
    ],
    [
      'python',
      'true written as in JSON',
      (layout) => withParameters(layout, { style: { ...style, quote: '"' } }),
      'true is refused by the grammar',
    ],
    [
      'lines',
      'true written as in Python',
      (layout) => withParameters(layout, { style: { ...style, true: 'True' } }),
      'true is refused by the grammar',
    ],
    [
      'stringMarks',
      'null written as in Python',
      (layout) => withParameters(layout, { style: { ...style, quote: '<|"|>', null: 'None' } }),
      'null is ',
    ],
    ['stringMarks', 'values between marks', (layout) => withParameters(layout, { values: 'tagged' }), 'one call is '],
    [
      'lines',
      'Python values',
      (layout) => withParameters(layout, { values: 'python' }),
      'a string with line breaks is read as',
    ],
    [
      'python',
      'a notation that does not exist',
      (layout) => withParameters(layout, { values: 'none' }),
      'one call No value notation is named "none"',
    ],
    [
      'channel',
      'no header',
      (layout) => ({ ...layout, header: '' }),
      'one call is refused by the grammar of a required call',
    ],
    [
      'attributes',
      'the arguments of a call without any missing',
      (layout) => withParameters(layout, { empty: '' }),
      'a call without arguments is refused by the grammar',
    ],
  ])('in %s: %s: the proof fails, and names the probe', (notation, _damage, damage, failure) => {
    const layout = layoutOf(notationTemplates[notation]);
    expect(failures(nativeFormat(layout), notation)).toEqual([]);
    const [first = 'proved'] = failures(nativeFormat(damage(layout)), notation);
    expect(first).toMatch(failure);
  });

  it.each(['chatml', 'lines', 'nameInMarks', 'python'] as const)(
    'the layout of %s proves no other template',
    (owner) => {
      const others = (Object.keys(notationTemplates) as Notation[]).filter((notation) => notation !== owner);
      const format = nativeFormat(layoutOf(notationTemplates[owner]));
      expect(others.filter((notation) => new FormatProof(format, probesOf(notation)).holds())).toEqual([]);
    },
  );
});

describe('a proof', () => {
  const native = nativeFormat(layoutOf(notationTemplates.lines));

  it('fails where a reader finds a call in an answer without any', () => {
    const call = { name: 'lamp_zq_tool', arguments: new Map(), raw: '', repaired: false };
    const eager: ToolCallFormat = {
      ...native,
      detect: (text) => ({ calls: [call], residual: text, truncated: false }),
    };
    expect(failures(eager, 'lines')).toContainEqual(
      expect.stringMatching(/^a message without calls is read as lamp_zq/),
    );
  });

  it('fails where a grammar accepts a call that is cut off', () => {
    const loose: ToolCallFormat = {
      ...native,
      grammar: (tools, choice) => {
        const grammar = native.grammar?.(tools, choice);
        if (grammar?.kind !== 'lazy') throw new Error('the grammar is not lazy');
        const any = many(anyChar, { min: 0 });
        return { ...grammar, triggers: grammar.triggers.map((trigger) => ({ ...trigger, rule: any })) };
      },
    };
    expect(failures(loose, 'lines')[0]).toContain('one call is accepted by the grammar when it is cut off');
  });

  it('fails where a reader or a grammar throws, with what they say', () => {
    const throwing: ToolCallFormat = {
      ...native,
      detect: () => {
        throw new Error('out of order');
      },
    };
    expect(failures(throwing, 'lines')[0]).toBe('one call out of order');
  });

  it('of all required probes stops at the first that fails', () => {
    const probes = probesOf('lines');
    expect(new FormatProof(native, probes).holds()).toBe(true);
    let read = 0;
    const failing: ToolCallFormat = {
      ...native,
      detect: (...given) => (read++, { ...native.detect(...given), calls: [] }),
    };
    expect(new FormatProof(failing, probes).holds()).toBe(false);
    expect(read).toBe(1);
  });

  it('takes none of the four formats for another one', () => {
    for (const notation of ['lines', 'jsonList', 'nameInId', 'nameInMarks'] as const) {
      for (const format of formats.values()) expect(failures(format, notation)).not.toEqual([]);
    }
  });
});
