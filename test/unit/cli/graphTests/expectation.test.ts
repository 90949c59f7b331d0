import { describe, expect, it } from 'vitest';
import { findMismatches, type Mismatch } from '../../../../src/cli/graphTests/casesFile.ts';
import type { TurnTrace } from '../../../../src/cli/graphTests/turnTrace.ts';

const call = (tool: string, args: object) => ({
  node: 'detect',
  tool,
  arguments: args as Readonly<Record<string, unknown>>,
  known: true,
  issues: [],
});

const trace: TurnTrace = {
  user: 'An ale!',
  path: [
    { node: 'guard', exit: 'not_triggered' },
    { node: 'detect', exit: 'tool_called' },
    { node: 'a.b', exit: 'default' },
  ],
  calls: [call('give_item', { item: 'ale', count: 1, to: { name: 'Ann', age: 7 } })],
  text: 'Here is your ale.\nCheers!',
};

const mismatches = (expected: Parameters<typeof findMismatches>[0]): readonly Mismatch[] =>
  findMismatches(expected, trace);
const linesOf = ([mismatch]: readonly Mismatch[]) => mismatch?.diff.map(({ mark, line }) => `${mark} ${line}`);

describe('the expectation of a turn', () => {
  it.each<readonly [string, Parameters<typeof findMismatches>[0]]>([
    ['nothing', {}],
    ['the nodes', { path: ['guard', 'detect', 'a.b'] }],
    ['a node and its exit', { path: ['guard.not_triggered', 'detect', 'a.b.default'] }],
    ['a call', { calls: [{ tool: 'give_item', arguments: {} }] }],
    ['a part of the arguments', { calls: [{ tool: 'give_item', arguments: { item: 'ale', to: { name: 'Ann' } } }] }],
    ['a text', { text: 'Here is your ale.\nCheers!' }],
    ['a part of a text', { text: { contains: 'your ale' } }],
    ['a pattern', { text: { matches: '^Here .* ale' } }],
    ['a pattern without case', { text: { matches: '(?i)CHEERS!$' } }],
    ['no match of a pattern', { text: { not_matches: 'beer' } }],
    ['all three', { text: { contains: 'ale', matches: 'ale', not_matches: 'ALE' } }],
  ])('is met by %s', (_, expected) => {
    expect(mismatches(expected)).toEqual([]);
  });

  it.each<readonly [string, Parameters<typeof findMismatches>[0], string, readonly string[]]>([
    [
      'another node',
      { path: ['guard', 'refuse'] },
      'another path',
      ['  guard.not_triggered', '- refuse', '+ detect.tool_called', '+ a.b.default'],
    ],
    [
      'another exit',
      { path: ['guard.triggered', 'detect', 'a.b'] },
      'another path',
      ['- guard.triggered', '+ guard.not_triggered', '  detect.tool_called', '  a.b.default'],
    ],
    [
      'a part of a name',
      { path: ['guard', 'detect', 'a'] },
      'another path',
      ['  guard.not_triggered', '  detect.tool_called', '- a', '+ a.b.default'],
    ],
    ['no path', { path: [] }, 'another path', ['+ guard.not_triggered', '+ detect.tool_called', '+ a.b.default']],
    [
      'a call where none is expected',
      { calls: [] },
      'a call where none is expected',
      ['+ give_item {"item":"ale","count":1,"to":{"name":"Ann","age":7}}'],
    ],
    [
      'a value of another type',
      { calls: [{ tool: 'give_item', arguments: { count: '1' } }] },
      'other calls',
      ['- give_item {"count":"1"}', '+ give_item {"item":"ale","count":1,"to":{"name":"Ann","age":7}}'],
    ],
    [
      'fewer calls',
      {
        calls: [
          { tool: 'give_item', arguments: {} },
          { tool: 'wait', arguments: {} },
        ],
      },
      'other calls',
      ['  give_item {"item":"ale","count":1,"to":{"name":"Ann","age":7}}', '- wait {}'],
    ],
    ['another text', { text: 'Cheers!' }, 'another text', ['- "Cheers!"', '+ "Here is your ale.\\nCheers!"']],
    [
      'a text without a part',
      { text: { contains: 'beer' } },
      'the text does not contain "beer"',
      ['+ "Here is your ale.\\nCheers!"'],
    ],
    [
      'a text that a pattern must not match',
      { text: { not_matches: 'ale' } },
      'the text matches "ale"',
      ['+ "Here is your ale.\\nCheers!"'],
    ],
    [
      'a text that does not match',
      { text: { matches: '^Cheers' } },
      'the text does not match "^Cheers"',
      ['+ "Here is your ale.\\nCheers!"'],
    ],
  ])('is not met by %s, and the difference is shown', (_, expected, message, diff) => {
    const found = mismatches(expected);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ message });
    expect(linesOf(found)).toEqual(diff);
  });

  it('names each part of a turn that differs', () => {
    const found = mismatches({ path: [], calls: [], text: { contains: 'beer', matches: '^x' } });
    expect(found.map(({ what }) => what)).toEqual(['path', 'calls', 'text', 'text']);
  });

  it('is not met by a turn that fails, even if nothing is expected', () => {
    const failed = { ...trace, error: 'PROMPT_TOO_LARGE (4004): too large' };
    expect(findMismatches({}, failed)).toEqual([
      {
        what: 'error',
        message:
          'the turn failed after guard.not_triggered, detect.tool_called, a.b.default: PROMPT_TOO_LARGE (4004): too large',
        diff: [],
      },
    ]);
  });
});
