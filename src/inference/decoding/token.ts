/** A token of a vocabulary: a number that is nothing else. */
export type { Token } from 'node-llama-cpp';
