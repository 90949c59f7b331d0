import { isObject } from '../../../base/jsonTypes.ts';
import { isSameJson } from '../sameJson.ts';
import { toolResult, type ToolReturn } from '../toolOutcome.ts';

/**
 * The result of an MCP call as a tool returns it: the texts in their order, each other part named in brackets, and the
 * structured content as JSON, unless a text has it already.
 */
export function mcpResult(given: unknown): ToolReturn {
  const result = isObject(given) ? given : {};
  // What servers of the first version of the protocol return.
  if ('toolResult' in result) return toolResult(result['toolResult']);
  const content: readonly unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  const structured = result['structuredContent'];
  const isError = result['isError'] === true;
  const lines = content.map(describePart);
  if (structured !== undefined && !content.some((part) => saysSame(part, structured)))
    lines.push(JSON.stringify(structured));
  const text = lines.length > 0 ? lines.join('\n') : undefined;
  return isError ? toolResult(text || 'the tool failed', { ok: false }) : toolResult(text);
}

function describePart(part: unknown): string {
  if (!isObject(part)) return '[a part that is no object]';
  const { type, text, data, mimeType, resource } = part;
  switch (type) {
    case 'text':
      return textOf(text);
    case 'image':
    case 'audio':
      return named(type, [mimeType, size(data)]);
    case 'resource_link':
      return named('resource', [part['name'], part['uri'], mimeType, part['description']]);
    case 'resource': {
      const inner = isObject(resource) ? resource : {};
      const heading = named('resource', [inner['uri'], inner['mimeType'], size(inner['blob'])]);
      return typeof inner['text'] === 'string' ? `${heading}\n${inner['text']}` : heading;
    }
    default:
      return named(textOf(type) || 'a part without a type', []);
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const named = (what: string, facts: readonly unknown[]): string =>
  `[${[what, facts.map(textOf).filter(Boolean).join(', ')].filter(Boolean).join(' ')}]`;

function size(base64: unknown): string {
  if (typeof base64 !== 'string') return '';
  return `${Math.floor((base64.replace(/=+$/, '').length * 3) / 4)} bytes`;
}

function saysSame(part: unknown, structured: unknown): boolean {
  if (!isObject(part) || part['type'] !== 'text') return false;
  try {
    return isSameJson(JSON.parse(textOf(part['text'])), structured);
  } catch {
    return false;
  }
}
