import { all, type CallGrammar, type Rule, tag, text } from '../grammar/rule.ts';

/** What vocabularies name control tokens: `<...>` without white space, `[UPPER_CASE]`. */
const markPattern = /<[^<>\s]+>|\[\/?[A-Z][A-Z0-9_]*\]/;
const lexemePattern = new RegExp(`${markPattern.source}|[\\p{L}\\p{M}\\p{N}_]+|[^]`, 'gu');

/** Marks, words and single other characters; joined they are the text. An unclosed mark is none: `<`, `key`, `=`. */
export const lexemes = (content: string): string[] => content.match(lexemePattern) ?? [];

/** Whether a lexeme is a mark: a name as control tokens have it. */
export const isMark = (lexeme: string): boolean => lexeme.length > 1 && wholeMarkPattern.test(lexeme);

export const marksIn = (content: string): readonly string[] => lexemes(content).filter(isMark);

const wholeMarkPattern = new RegExp(`^(?:${markPattern.source})$`, 'u');

/** The rule of a literal of a template: each mark is one control token where the vocabulary has it, else plain text. */
export function literalRule(literal: string): Rule {
  const rules: Rule[] = [];
  let plain = '';
  const endPlain = (): void => {
    if (plain !== '') rules.push(text(plain));
    plain = '';
  };
  for (const lexeme of lexemes(literal)) {
    if (!isMark(lexeme)) {
      plain += lexeme;
      continue;
    }
    endPlain();
    rules.push(tag(lexeme));
  }
  endPlain();
  const [first = text(''), ...others] = rules;
  return others.length === 0 ? first : all(...rules);
}

/** The grammar of an answer with the mark before it that opens answers; any other grammar as it is. */
export const withAnswerMark = (grammar: CallGrammar, mark: string): CallGrammar =>
  grammar.kind === 'full' && grammar.answer && mark !== ''
    ? { ...grammar, rule: all(literalRule(mark), grammar.rule) }
    : grammar;
