import type { Figure } from './figures.mjs';

export function tableOf(figures: readonly Figure[]): string;
