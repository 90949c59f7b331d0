/** The tool-call format that a chat template and its vocabulary speak, by the marks that the families leave in them. */
export function detectToolFormat(template: string, tokenizer: { has(spelling: string): boolean }): string | undefined {
  if (template.includes('<tool_call>')) return 'chatml';
  if (template.includes('[TOOL_CALLS]') || tokenizer.has('[TOOL_CALLS]')) return 'mistral';
  if (template.includes('<|start_header_id|>') && template.includes('"parameters"')) return 'llama3';
  return undefined;
}

/** The strings that calls of a format are written with, where its families have tokens for them. */
export const toolTokensByFormat: Readonly<Record<string, readonly string[]>> = {
  chatml: ['<tool_call>', '</tool_call>'],
  llama3: ['<|python_tag|>', '<|eom_id|>'],
  mistral: ['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_CALLS]'],
};
