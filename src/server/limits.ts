import type { Limits } from '../graph/limits.ts';
import type { ServerOptions } from './config.ts';

/** The limits that the options set. */
export const limitsOf = (options: ServerOptions): Limits => ({
  agents: options.maxAgents,
  messageBytes: options.maxMessageBytes,
  patterns: options.maxPatterns,
  knowledgeEntries: options.maxKnowledgeEntries,
  knowledgeBytes: options.maxKnowledgeBytes,
  requests: options.maxRequests,
  nodes: options.maxNodes,
  tools: options.maxTools,
  steps: options.maxSteps,
});
