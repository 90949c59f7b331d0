// Which tools a format can constrain: some notations cannot write every name of a parameter.
/** @import { Tool, ToolCallFormat } from '../../../src/chat/tool.ts' */

/**
 * The tools whose calls the grammar of a format can express, and why the others were left out, one sentence each.
 * @param {readonly Tool[]} tools
 * @param {ToolCallFormat} format
 * @returns {{ writable: readonly Tool[], refused: readonly string[] }}
 */
export function writableTools(tools, format) {
  const refused = [];
  const writable = tools.filter((tool) => {
    try {
      return format.grammar([tool], { kind: 'auto' });
    } catch (error) {
      refused.push(error.message);
      return false;
    }
  });
  return { writable, refused };
}
