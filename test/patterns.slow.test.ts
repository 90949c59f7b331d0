import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { growthOf, type PatternUse } from './helpers/patterns/growth.ts';
import { patternsIn, sourceFiles, type SourcePattern } from './helpers/patterns/sourcePatterns.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const files = ['src', 'playground', 'conformance', 'examples'].flatMap(sourceFiles);
const found = files.map(patternsIn);

/** The patterns that may take more than linear time, each with its place and a text that shows it. */
const slowOf = (patterns: readonly SourcePattern[]): readonly string[] =>
  patterns.flatMap((pattern) => {
    const growth = growthOf(pattern);
    const { place, source, flags } = pattern;
    return growth ? [`${place}: /${source}/${flags} is ${growth.kind} in ${JSON.stringify(growth.repeated)}`] : [];
  });

describe('the time of a pattern', () => {
  const growth = (source: string, flags: string): string =>
    growthOf({ source, flags, isRepeated: /[gy]/.test(flags) })?.kind ?? 'linear';

  it.each([
    ['^(?:[\\s`]|```\\w*)*$'],
    ['^(a*)*b'],
    ['^(?:a|a)*b'],
    ['^(?:a|a){0,64}b'],
    ['^(?:a+)+b'],
    ['^(([a-z])+.)+[A-Z]'],
    ['(x+x+)+y'],
    ['^(?:a*b?)*c'],
    ['^(?:a+b|a)*?$'],
    ['^(?!(?:a|a)*b)'],
  ])('is exponential: %s', (source) => {
    expect(growth(source, '')).toBe('exponential');
  });

  it.each([
    ['^a*.*b', ''],
    ['^\\s*\\s*x', ''],
    ['^\\d+\\.?\\d*$', ''],
    ['\\s+$', ''],
    ['\\W+$', ''],
    ['<x>.*?</x>', 's'],
    ['<x>.*?</x>', 'gs'],
    ['a.*b.*c', ''],
    ['a+b|a', 'g'],
    ['^(?:a+b|a)*', ''],
    ['\\s*x', 'y'],
    ['(?=.*x)a', ''],
    ['^\\s*/', 'gm'],
    ['^(.*?,){11}P', ''],
    ['(?:)(?!.*x)', 'g'],
  ])('is polynomial: /%s/%s', (source, flags) => {
    expect(growth(source, flags)).toBe('polynomial');
  });

  it.each([
    ['^a*b', ''],
    ['\\s*', 'y'],
    ['\\s+', 'g'],
    ['(?<!\\s)\\s+$', ''],
    ['\\b\\w+!', 'g'],
    ['a+b|a', ''],
    ['a|a+b', 'g'],
    ['^(?:a|a+b)*', ''],
    ['"[^"]*"', 'g'],
    ['^(?=.*x)a', ''],
    ['(?<=^|\\n)[ \\t]*<', 'g'],
    ['[^\\s<>]{1,60}>', ''],
    ["^'(?:[^'\\\\]|\\\\[^])*'", ''],
    ['\\p{L}[\\p{L}\\p{N}]*', 'gu'],
  ])('is linear: /%s/%s', (source, flags) => {
    expect(growth(source, flags)).toBe('linear');
  });

  it.each([['(a)\\1'], ['(?<=a*)b']])('is unknown: %s', (source) => {
    expect(growth(source, '')).toBe('unknown');
  });
});

it('is linear in the text for every pattern of the sources', () => {
  const literals = found.flatMap((file) => file.literals);
  expect(literals.length).toBeGreaterThan(400);
  expect(slowOf(literals)).toEqual([]);
});

describe('patterns that are made of texts', () => {
  const made = new Map<string, SourcePattern>();
  const record = ([source, flags = '']: readonly [string | RegExp, string?]): void => {
    const stack = new Error().stack ?? '';
    const [, path, line] =
      /\(?((?:\/|file:)[^()\n]*\/(?:src|playground|conformance)\/[^()\n]*?):(\d+):\d+\)?/.exec(stack) ?? [];
    if (path === undefined) return;
    const place = `${relative(root, path.replace(/^file:\/\//, ''))}:${line}`;
    const use: PatternUse = { source: String(source), flags, isRepeated: /[gy]/.test(flags) };
    made.set(`${place} ${use.source}`, { ...use, place });
  };
  it('are linear in the text, too', async () => {
    vi.stubGlobal(
      'RegExp',
      new Proxy(RegExp, {
        construct(target, args: [string | RegExp, string?], newTarget) {
          record(args);
          return Reflect.construct(target, args, newTarget) as RegExp;
        },
      }),
    );
    vi.resetModules();
    await makePatterns();
    vi.unstubAllGlobals();
    const places = new Set([...made.values()].map(({ place }) => place));
    expect(found.flatMap((file) => file.made).filter((place) => !places.has(place))).toEqual([]);
    expect(slowOf([...made.values()])).toEqual([]);
  });
});

/** Does what makes patterns of texts. The modules are imported here, so that their patterns are recorded. */
async function makePatterns(): Promise<void> {
  const { DiskCache, DiskQuota } = await import('../src/base/diskCache.ts');
  const { nativeFormat } = await import('../src/chat/dialect/nativeFormat.ts');
  const { formats } = await import('../src/chat/formats/index.ts');
  const { CallMarkupFilter, StreamableText } = await import('../src/chat/reply/malformed/streamableText.ts');
  const { parseReply } = await import('../src/chat/reply/parseReply.ts');
  const { probeChatTemplate } = await import('../src/chat/template/chatTemplate.ts');
  const { ControlTokenMatcher } = await import('../src/inference/decoding/controlTokens.ts');
  const { withConfidence } = await import('../src/graph/nodes/toolCall/confidence.ts');
  const { notationTemplates } = await import('./helpers/templates/notations.ts');
  const { createTool } = await import('./helpers/toolCalls.ts');
  await import('../src/chat/tools/validate/grounding.ts');
  await import('../src/graph/retrieval/words/splitWords.ts');
  await import('../src/inference/download/locate.ts');
  const users: unknown[] = [];
  users.push(
    new DiskCache({
      folder: '',
      quota: new DiskQuota(1),
      extensions: ['json', 'data'],
      read: () => Promise.resolve(undefined),
    }),
  );
  users.push(new ControlTokenMatcher(['<|im_start|>', '<|im_end|>', '</s>', '(']));
  const tools = ['lamp', 'get-tide.2', 'a_b'].map((name) => createTool({ name }));
  const sources = Object.values(notationTemplates).slice(0, 2);
  const templates = sources.map((source) => probeChatTemplate(source, { bos: '<s>', eos: '</s>' }));
  const dialects = templates.flatMap(({ toolDialect: { layout }, replyMarks }) =>
    layout ? [{ format: nativeFormat(layout), marks: replyMarks }] : [],
  );
  for (const { format, marks } of [
    ...[...formats.values()].map((each) => ({ format: each, marks: undefined })),
    ...dialects,
  ]) {
    parseReply('lamp({}) <tool_call>', format, { tools, ...(marks && { marks }) });
    const text = '<tool_call>{"name": "lamp", "arguments": {"on": true}}</tool_call>';
    withConfidence(parseReply(text, format).calls, { text, choices: [] });
    const toolNames = new Set(tools.map(({ name }) => name));
    users.push(new CallMarkupFilter(format.markup), new StreamableText({ markup: format.markup, toolNames }));
  }
}
