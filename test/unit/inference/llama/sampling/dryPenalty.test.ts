import { describe, expect, it } from 'vitest';
import type { Token } from 'node-llama-cpp';
import type { DryParams } from '../../../../../src/inference/contract/samplingParams.ts';
import { dryPenalties, findBreakers } from '../../../../../src/inference/llama/sampling/dryPenalty.ts';
import { createRandom } from '../../../../../scripts/seededRandom.mjs';
import { scaled } from '../../../../helpers/depth.ts';

const params: DryParams = {
  multiplier: 1,
  base: 2,
  allowed_length: 2,
  penalty_last_n: 64,
  sequence_breakers: ['\n'],
};

// Each letter is a token, and so is each text in angle brackets.
const tokensOf = (text: string): Token[] =>
  [...text.matchAll(/<([^>]*)>|./gs)].map(([all, inner]) => tokenOf(inner ?? all));
const texts: string[] = [];
function tokenOf(text: string): Token {
  if (!texts.includes(text)) texts.push(text);
  return texts.indexOf(text) as Token;
}
const tokenizer = {
  detokenize: (tokens: readonly Token[]) => tokens.map((token) => texts[token] ?? '').join(''),
  tokenizeContinuation: (text: string) => [...text].map(tokenOf),
};

function penaltiesAfter(text: string, changes: Partial<DryParams> = {}): Record<string, number> {
  const dry = { ...params, ...changes };
  const penalties = dryPenalties(tokensOf(text), dry, findBreakers(dry.sequence_breakers, tokenizer));
  return Object.fromEntries([...penalties].map(([token, penalty]) => [texts[token], penalty]));
}

describe('DRY', () => {
  it('penalizes what would continue a repetition, the more the longer it is', () => {
    expect(penaltiesAfter('abcdXab')).toEqual({ c: 1 });
    expect(penaltiesAfter('abcdXabc')).toEqual({ d: 2 });
    expect(penaltiesAfter('abcdXabcd')).toEqual({ X: 4 });
    expect(penaltiesAfter('abcdXabcd', { multiplier: 0.5, base: 3, allowed_length: 1 })).toEqual({ X: 13.5 });
  });

  it('leaves shorter repetitions and new text alone', () => {
    expect(penaltiesAfter('abcdXa')).toEqual({});
    expect(penaltiesAfter('abcdefgh')).toEqual({});
    expect(penaltiesAfter('')).toEqual({});
  });

  it('takes the longest of several repetitions', () => {
    expect(penaltiesAfter('abcX bcX bcY abc')).toEqual({ X: 2, Y: 1 });
  });

  it('looks at the last tokens only', () => {
    expect(penaltiesAfter('abcdXab', { penalty_last_n: 6 })).toEqual({});
    expect(penaltiesAfter('abcdXab', { penalty_last_n: 7 })).toEqual({ c: 1 });
    expect(penaltiesAfter('abcdXab', { penalty_last_n: 0 })).toEqual({});
  });

  it('ends repetitions at sequence breakers, and never penalizes these', () => {
    expect(penaltiesAfter('ab\ncdXab\ncd')).toEqual({ X: 1 });
    expect(penaltiesAfter('ab\ncXab')).toEqual({});
    expect(penaltiesAfter('ab\ncXab\n', { allowed_length: 0 })).toEqual({ c: 1, a: 1, b: 1, X: 1 });
  });

  it('finds breakers within tokens, and such as several tokens make up', () => {
    expect(penaltiesAfter('a<b.\n>cdXa<b.\n>cd')).toEqual({ X: 1 });
    const breakers = { sequence_breakers: ['STOP'] };
    expect(penaltiesAfter('abSTOPcdXabSTOPcd', breakers)).toEqual({ X: 1 });
    expect(penaltiesAfter('ab<xS>TOPcdXab<xS>TOPcd', breakers)).toEqual({ X: 1 });
    // Not the whole of it.
    expect(penaltiesAfter('abSTOcdXabSTOcd', breakers)).toEqual({ X: 2 ** 5 });
  });

  it('agrees with a plain search in random texts', () => {
    const random = createRandom(7);
    const letter = (): string => 'abc\n'[Math.floor(random() * 4)] ?? 'a';
    for (let round = 0; round < scaled(2000); round++) {
      const text = Array.from({ length: Math.floor(random() * 40) }, letter).join('');
      const dry = {
        ...params,
        allowed_length: Math.floor(random() * 4),
        penalty_last_n: Math.floor(random() * 50),
        sequence_breakers: [random() < 0.5 ? '\n' : 'X'],
      };
      expect(penaltiesAfter(text, dry), JSON.stringify({ text, dry })).toEqual(plainSearch(text, dry));
    }
  });

  it('is bounded where the repetition is endless', () => {
    const [penalty = 0] = Object.values(penaltiesAfter('a'.repeat(5000), { base: 100, penalty_last_n: 5000 }));
    expect(penalty).toBeGreaterThan(1e20);
    expect(Number.isFinite(Math.fround(penalty))).toBe(true);
  });
});

/** The definition: for each letter the longest end of the text that occurred before and was followed by it. */
function plainSearch(text: string, dry: DryParams): Record<string, number> {
  const recent = dry.penalty_last_n === 0 ? '' : text.slice(-dry.penalty_last_n);
  const [breaker = ''] = dry.sequence_breakers;
  const maxLength = recent.length - (recent.lastIndexOf(breaker) + 1);
  const penalties: Record<string, number> = {};
  if (recent.length <= dry.allowed_length) return penalties;
  for (let end = 1; end < recent.length; end++) {
    const next = recent[end] ?? '';
    if (next === breaker) continue;
    let length = 0;
    while (length < Math.min(end, maxLength) && recent[end - 1 - length] === recent[recent.length - 1 - length])
      length++;
    if (length < dry.allowed_length) continue;
    penalties[next] = Math.max(penalties[next] ?? 0, dry.multiplier * dry.base ** (length - dry.allowed_length));
  }
  return penalties;
}
