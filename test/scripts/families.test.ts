import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { compareTokens, differenceOf } from '../../scripts/evals/families/tokens.mjs';
import { likelyTokens } from '../../scripts/evals/families/likelyTokens.mjs';
import { formatFamilies, problemsOf } from '../../scripts/evals/families/report.mjs';
import { difficultTexts } from '../../scripts/evals/families/texts.mjs';
import { readCallsIn, readWholeCall } from '../../scripts/evals/strict/readCalls.mjs';
import { vocabularyOf } from '../../scripts/gguf/tokenizerJson.mjs';
import { chatml } from '../../src/chat/formats/chatml.ts';
import { readTool } from '../../src/chat/tools/declaration/readTool.ts';
import { repositoryPath } from '../helpers/server.ts';

/** Runs `npm run families` with arguments; it ends before it fetches anything where they are wrong. */
const runFamilies = (...args: readonly string[]): Promise<{ readonly code: unknown; readonly stderr: string }> =>
  new Promise((resolve) => {
    const script = repositoryPath('scripts/evals/families.mjs');
    execFile(process.execPath, [script, ...args], (error, _, stderr) => resolve({ code: error?.code, stderr }));
  });

describe('npm run families', () => {
  it.each([
    [['qwen9'], 'no family is called "qwen9"; there are: qwen3, '],
    [['--count', '0'], '--count must be a whole number from 1, not "0"'],
    [['--count', 'many'], '--count must be a whole number from 1, not "many"'],
    [['--templates', 'a', '--template', 'b'], 'either --templates or --template can be set, not both'],
    [['--fast'], "Unknown option '--fast'"],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await runFamilies(...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

describe('a vocabulary from a tokenizer.json', () => {
  const added = (id: number, content: string, special: boolean) => ({ id, content, special });

  it('of byte-level BPE has the token types of llama.cpp', () => {
    const tokenizer = {
      model: { vocab: { a: 0, b: 1, ab: 2 }, merges: [['a', 'b'] as const] },
      added_tokens: [
        added(3, '<|end|>', true),
        added(4, '<call>', false),
        added(5, '<|fim|>', false),
        added(8, '<s>', true),
      ],
    };
    expect(vocabularyOf(tokenizer, { bos: '<s>', eos: '<|end|>', addBos: true, pre: 'qwen2' })).toMatchObject({
      model: 'gpt2',
      pre: 'qwen2',
      tokens: ['a', 'b', 'ab', '<|end|>', '<call>', '<|fim|>', '[PAD6]', '[PAD7]', '<s>'],
      // Normal, control, user-defined and unused. A name between <| and |> is one of a control token.
      types: [1, 1, 1, 3, 4, 3, 5, 5, 3],
      merges: ['a b'],
      bos: 8,
      eos: 3,
      addBos: true,
    });
  });

  it('of SentencePiece has the ranks of its merges as scores', () => {
    const tokenizer = {
      model: {
        vocab: { '<unk>': 0, '<0x0A>': 1, a: 2, '▁': 3, '▁a': 4, aa: 5, '▁aa': 6 },
        merges: ['▁ a', 'a a', '▁ aa', '▁a a'],
        byte_fallback: true,
      },
      added_tokens: [added(0, '<unk>', true), added(7, '▁▁', false)],
    };
    const vocab = vocabularyOf(tokenizer, { addBos: false });
    expect(vocab).toMatchObject({ model: 'llama', unknown: 0, bos: undefined });
    expect(vocab.types).toEqual([2, 6, 1, 1, 1, 1, 1, 4]);
    expect(vocab.tokens[7]).toBe('  ');
    expect(vocab.scores).toEqual([-4, -4, -4, -4, -0, -1, -2, -4]);
  });

  it('prefers the characters of ASCII and the end of generation, half and half with all others', () => {
    const tokens = [...Array.from({ length: 1000 }, (_, index) => `word${index}`), 'a', '{', '<end>'];
    const { ids, logits } = likelyTokens({ model: 'gpt2', tokens, types: [], eos: 1002 });
    expect(ids).toEqual([1000, 1001, 1002]);
    expect(3 * Math.exp(logits / 1.5)).toBeCloseTo(1000);
  });
});

describe('the comparison of tokens', () => {
  const codePoints = { plain: (text: string) => [...text].map((character) => character.codePointAt(0) ?? 0) };
  const composing = { plain: (text: string) => codePoints.plain(text.normalize('NFC')) };
  const upper = { plain: (text: string) => codePoints.plain(text.toUpperCase()) };

  it('counts texts that differ only in Unicode NFC, and those that are known to differ, apart', () => {
    const texts = new Map([
      ['plain', 'ABC'],
      ['composed', 'é'],
      ['decomposed', 'e\u0301'],
    ]);
    expect(compareTokens(texts, { own: codePoints, reference: composing })).toEqual({
      equal: 2,
      onlyNfc: ['decomposed'],
      known: [],
      different: [],
    });
    const known = new Map([['composed', 'it is another letter']]);
    expect(compareTokens(texts, { own: codePoints, reference: upper, known })).toEqual({
      equal: 1,
      onlyNfc: [],
      known: ['composed: it is another letter'],
      different: ['decomposed: 2 tokens instead of 2, from token 0 on 101 769 instead of 69 769'],
    });
  });

  it('says where the tokens differ', () => {
    expect(differenceOf([1, 2], [1, 2])).toBeUndefined();
    expect(differenceOf([1, 2, 3], [1, 2])).toBe('3 tokens instead of 2, from token 2 on 3 instead of the end');
    expect(differenceOf([1], [1, 2])).toBe('1 tokens instead of 2, from token 1 on the end instead of 2');
  });

  it('has twelve difficult texts', () => {
    expect(new Set(difficultTexts.values()).size).toBe(12);
  });
});

describe('the reading of generated calls', () => {
  const declaration = { name: 'dim', description: 'Dim.', parameters: [], consequential: false };
  const reading = readTool(declaration);
  const tools = reading.ok ? [reading.value] : [];
  const call = (args: string): string => `<tool_call>\n{"name": "dim", "arguments": ${args}}\n</tool_call>`;
  const options = { format: chatml, tools, endedEarly: false, opening: '<tool_call>' };

  it('takes each call on its own, whatever is around it', () => {
    const { calls, wrong, isCut } = readCallsIn(
      `a \`b e${call('{"x": 1}')} c\` <think> e${call('{"y": [2.5]}')} d`,
      options,
    );
    expect(calls.map(({ args }) => args)).toEqual([{ x: 1 }, { y: [2.5] }]);
    expect([wrong, isCut]).toEqual([[], false]);
  });

  it('finds a call that is not read, and one that has to be repaired', () => {
    expect(readCallsIn(`${call('{')} and ${call('{}')}`, options).wrong).toHaveLength(1);
    expect(readCallsIn(call("{'x': 1}"), options).wrong).toEqual([
      expect.stringContaining('is read as malformed: <tool_call>'),
    ]);
  });

  it('counts a call that a maximum of tokens cut off as cut, not as wrong', () => {
    const text = `${call('{}')} ${call('{"x": "<tool_call>').slice(0, -20)}`;
    const { calls, wrong, isCut } = readCallsIn(text, { ...options, endedEarly: true });
    expect([calls.length, wrong, isCut]).toEqual([1, [], true]);
  });

  it('of a text that is one call refuses anything else', () => {
    const problems = (text: string) => readWholeCall(text, options).wrong.length;
    expect(problems(call('{}'))).toBe(0);
    expect(problems(`${call('{}')}!`)).toBe(1);
    expect(problems(call('{}') + call('{}'))).toBe(1);
    expect(problems('text')).toBe(1);
    expect(readWholeCall(call('{}').slice(0, 20), { ...options, endedEarly: true })).toEqual({
      calls: [],
      wrong: [],
      isCut: true,
    });
  });
});

describe('the report of families', () => {
  const checked = { complete: 200, cut: 3, wrong: [], tokens: 9000, milliseconds: 61_000 };
  const result = {
    family: 'one',
    words: 1000,
    tokens: { equal: 10, onlyNfc: ['accents'], known: ['digits: they are others'], different: [] },
    prompt: { tokens: 321, difference: '' },
    format: { name: 'native', reason: 'its chat template has a layout of its own', refused: ['the tool "x" is odd'] },
    strict: { auto: checked, required: { ...checked, cut: 0 } },
    seconds: 130.4,
  };

  it('has a line for each, and says what is not equal', () => {
    const [head = '', row = '', ...notes] = formatFamilies([result]);
    const cells = (line: string) => line.split(/ {2,}/);
    expect(cells(head)).toEqual(['family', 'tokens', 'texts', 'prompt', 'format', 'auto', 'required', 'time']);
    expect(cells(row)).toEqual([
      'one',
      '1000',
      '10 equal, 1 but for NFC, 1 known',
      '321 equal',
      'native',
      '200 calls, 0 wrong, 3 cut, 61 s',
      '200 calls, 0 wrong, 0 cut, 61 s',
      '130 s',
    ]);
    expect(head.indexOf('required')).toBe(row.lastIndexOf('200 calls'));
    expect(notes).toEqual([
      'one: native: its chat template has a layout of its own',
      'one: left out: the tool "x" is odd',
      'one: llama.cpp does not normalise to Unicode NFC as the tokenizer does: accents',
      'one: digits: they are others',
    ]);
    expect(problemsOf(result)).toEqual([]);
  });

  it('names each wrong call, text and prompt', () => {
    const wrong = {
      ...result,
      tokens: { ...result.tokens, different: ['emoji: 2 tokens instead of 1'] },
      prompt: { tokens: 321, difference: '321 tokens are evaluated instead of 320' },
      strict: { auto: { ...checked, wrong: ['seed 1: is not read: <x>'] } },
    };
    expect(problemsOf(wrong)).toEqual([
      'one: tokens: emoji: 2 tokens instead of 1',
      'one: prompt: 321 tokens are evaluated instead of 320',
      'one: auto: seed 1: is not read: <x>',
    ]);
  });
});
