import { Fault } from '../../protocol/fault.ts';
import type { KnowledgeBlock } from '../compile/knowledgeBlock.ts';

/**
 * The error of a prompt that is too large, with the knowledge that is in it and what to lower; other errors as they are.
 * @param texts of the prompt.
 */
export function explainKnowledge(error: unknown, blocks: readonly KnowledgeBlock[], texts: readonly string[]): unknown {
  if (!(error instanceof Fault) || error.name !== 'PROMPT_TOO_LARGE') return error;
  const parts = blocks.flatMap(({ name, chunks }) => {
    const shown = chunks.filter(({ text }) => texts.some((whole) => whole.includes(text)));
    const characters = shown.reduce((sum, { text }) => sum + text.length, 0);
    const entries = shown.length === 1 ? '1 entry' : `${shown.length} entries`;
    return shown.length === 0 ? [] : [`${entries} of knowledge_${name} with ${characters} characters`];
  });
  if (parts.length === 0) return error;
  const { message, detail } = error;
  const hint = `the prompt has ${parts.join(', ')}: lower top_k of the node that finds them, or make the entries shorter`;
  return new Fault('PROMPT_TOO_LARGE', `${message}; ${hint}`, { detail, cause: error });
}
