import type { Token } from 'node-llama-cpp';

export function tokensIn(file: string): Promise<Token[] | undefined>;
