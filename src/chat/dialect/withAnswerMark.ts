import type { CallGrammar } from '../grammar/grammar.ts';
import { all } from '../grammar/rule.ts';
import { literalRule } from './marks.ts';

/** The grammar of an answer with the mark before it that opens answers; any other grammar as it is. */
export const withAnswerMark = (grammar: CallGrammar, mark: string): CallGrammar =>
  grammar.kind === 'full' && grammar.answer && mark !== ''
    ? { ...grammar, rule: all(literalRule(mark), grammar.rule) }
    : grammar;
