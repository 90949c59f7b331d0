/** Detects the tool-call format that a model was trained with, by tags in its chat template and in its vocabulary. */
export function detectToolFormat(template: string, tokenizer: { has(spelling: string): boolean }): string | undefined {
  if (template.includes('<tool_call>')) return 'chatml';
  if (template.includes('[TOOL_CALLS]') || tokenizer.has('[TOOL_CALLS]')) return 'mistral';
  if (template.includes('<|start_header_id|>') && template.includes('"parameters"')) return 'llama3';
  return undefined;
}

/** The strings around the calls of a format for which its model families have special tokens. */
export const toolTokensByFormat: Readonly<Record<string, readonly string[]>> = {
  chatml: ['<tool_call>', '</tool_call>'],
  llama3: ['<|python_tag|>', '<|eom_id|>'],
  mistral: ['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_CALLS]'],
};
