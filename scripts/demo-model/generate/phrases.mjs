// Phrases that occur in every prompt with tools, each a token of its own: the formats' wording and JSON punctuation.
import { blockFor, formatNames } from './prompts.mjs';

const probe = { name: 'PROBE', description: '', parameters: [] };

// The text of a format before the first tool and after the last one.
function frames(format) {
  const { text } = blockFor([probe], format);
  const behind = text.lastIndexOf('}}}}') + 4;
  const before = text.slice(0, text.indexOf('PROBE'));
  return [
    ...before.split(/(?=\{"type": "function")|(?<=\n\n)/),
    ...(behind > 3 ? text.slice(behind).split(/(?<=\n\n)/) : []),
  ];
}

const joints = [
  '{"type": "function", "function": {"name": "',
  '", "description": "',
  '", "parameters": {"type": "object", "properties": {',
  '": {"type": "string"',
  '": {"type": "integer"',
  '": {"type": "number"',
  '": {"type": "boolean"',
  '": {"type": "array", "items": {"type": "string"}',
  ', "description": "',
  ', "enum": ["',
  '}, "required": ["',
  '"]}}}',
  '<tool_call>\n',
  '\n</tool_call>',
  '[TOOL_CALLS] [',
  '{"name": "',
  '{"tool": "',
  '", "arguments": {',
  '", "parameters": {',
  '", "args": {',
  '<tool_response>\n',
  '\n</tool_response>',
  '[TOOL_RESULTS]',
  '[/TOOL_RESULTS]',
  '", "',
  '"}, "',
  '}, "',
  '": "',
  '": ["',
  '": ',
  '"}}',
  '}}',
  '"]}',
  ', "',
  '{"',
];

/** The phrases, in a fixed order. */
export const phrases = [...new Set([...formatNames.flatMap(frames), ...joints])].filter(
  (text) => text.trim().length > 1,
);
