import type { Figure } from './results.mjs';

export function tableOf(stats: readonly Figure[]): string;
