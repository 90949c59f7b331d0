import type { MetadataValue } from '../storage/knowledge/knowledge.ts';

/** An entry of a storage that was found for a turn. */
export interface KnowledgeChunk {
  readonly id: string;
  readonly text: string;
  /** How well it fits, higher is better; comparable within one search only. */
  readonly score: number;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
}

/** The entries that nodes of a turn have found under one name, for templates. */
export interface KnowledgeBlock {
  /** The source: a parameter of the node, by default its name. */
  readonly name: string;
  /** Best first; [] = nothing was found. */
  readonly chunks: readonly KnowledgeChunk[];
}

/** What the name of a template variable with the chunks of one block begins with. */
export const knowledgePrefix = 'knowledge_';

/** The chunks of each block, by the name that templates have for them. */
export const knowledgeVariables = (
  blocks: readonly KnowledgeBlock[],
): Readonly<Record<string, readonly KnowledgeChunk[]>> =>
  Object.fromEntries(blocks.map(({ name, chunks }) => [knowledgePrefix + name, chunks]));

/** Blocks with one more. If there is a block of its name, its chunks are added to that one; none is there twice. */
export function withBlock(blocks: readonly KnowledgeBlock[], added: KnowledgeBlock): readonly KnowledgeBlock[] {
  const index = blocks.findIndex(({ name }) => name === added.name);
  const existing = blocks[index];
  if (!existing) return [...blocks, added];
  const isNew = ({ id, text }: KnowledgeChunk): boolean =>
    !existing.chunks.some((chunk) => chunk.id === id && chunk.text === text);
  return blocks.with(index, { ...existing, chunks: [...existing.chunks, ...added.chunks.filter(isNew)] });
}
