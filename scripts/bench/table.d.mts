import type { Figure } from './figures.mjs';

export function tableOf(stats: readonly Figure[]): string;
