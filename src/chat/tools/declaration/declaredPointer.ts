import { escapePointerToken } from '../../../base/jsonPointer.ts';
import type { Tool } from '../../tool.ts';

/**
 * The pointer into the declaration of a tool for one into its parameters. Where parameters were declared as a list, it has
 * the index of the parameter instead of its name.
 */
export function declaredPointer(pointer: string, { origin = { pointer: '' } }: Tool): string {
  const place = `${origin.pointer}/parameters`;
  for (const [index, name] of (origin.list ?? []).entries()) {
    const property = `/properties${escapePointerToken(name)}`;
    if (`${pointer}/`.startsWith(`${property}/`)) return `${place}/${index}${pointer.slice(property.length)}`;
  }
  return place + pointer;
}
