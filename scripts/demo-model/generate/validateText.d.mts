import type { Catalogue } from './catalogue.mjs';

export function faultsOf(catalogue: Partial<Catalogue>): string[];
