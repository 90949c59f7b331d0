import type { RandomShape } from './write.mjs';

export const shapes: { readonly mid: RandomShape; readonly tiny: RandomShape };
export const chatTemplate: string;
