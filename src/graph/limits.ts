/** Limits of what a client can ask for. */
export interface Limits {
  /** Max agents of one session. */
  readonly agents: number;
  /** Max bytes of a user message, and of all its variables together. */
  readonly messageBytes: number;
  /** Max entries of a string storage, or of a node's own strings. */
  readonly patterns: number;
  /** Max entries of a KNOWLEDGE storage. */
  readonly knowledgeEntries: number;
  /** Max bytes of all KNOWLEDGE storages of one session. */
  readonly knowledgeBytes: number;
  /** Max unanswered requests of one connection. */
  readonly requests: number;
  /** Max nodes of one graph. */
  readonly nodes: number;
  /** Max tools of one node. */
  readonly tools: number;
  /** Max nodes that one turn may visit. */
  readonly steps: number;
}
