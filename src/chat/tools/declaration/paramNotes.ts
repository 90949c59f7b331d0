import type { ParamNotes, Tool } from '../../tool.ts';

/** The key of a parameter's path in the notes of a tool: all items of a list are one parameter (`items[2].name` -> `items[].name`). */
export const notesKey = (path: string): string => path.replaceAll(/\[\d+\]/g, '[]');

/** The facts of a parameter, by its path; what it does not say is that of the parameter it is in. */
export function notesOf({ notes }: Tool, path: string): Partial<ParamNotes> {
  let facts: Partial<ParamNotes> = {};
  for (let key = notesKey(path); key !== ''; key = parentOf(key)) facts = { ...notes.get(key), ...facts };
  return facts;
}

const parentOf = (key: string): string => key.slice(0, Math.max(key.lastIndexOf('.'), key.lastIndexOf('['), 0));
