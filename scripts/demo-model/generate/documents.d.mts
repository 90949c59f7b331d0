import type { Chance } from '../../seededRandom.mjs';
import type { Catalogue } from './catalogue.mjs';

/** A message, and the calls that are due. */
export interface Branch {
  readonly turns: readonly {
    readonly said: { readonly role: string; readonly text: string };
    readonly answer: string;
  }[];
  readonly calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[];
}

/** A list of tools, and messages about them that do not see each other. */
export interface ToolDocument {
  readonly declarations: readonly {
    readonly name: string;
    readonly parameters: readonly { readonly name: string; readonly enum?: readonly unknown[] }[];
  }[];
  readonly branches: readonly Branch[];
}

export function documentsFrom(
  catalogue: Catalogue,
  chance: Chance,
  part?: 'train' | 'held',
): { readonly toolDocument: (lesson?: object) => ToolDocument };
