import { isObject } from '../../base/jsonTypes.ts';
import { invalidField } from './apiError.ts';

/**
 * The text of a message: a string, or text parts, which are joined. @throws ApiError with status 400 for parts of another
 * kind, such as images, and for a text that is too large
 */
export function readContent(content: unknown, place: string, maxBytes: number): string {
  const text = Array.isArray(content)
    ? content.map((part, index) => readPart(part, `${place}[${index}]`)).join('')
    : content;
  if (text === undefined) return '';
  if (typeof text !== 'string') throw invalidField(place, 'must be a string or a list of text parts');
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw invalidField(place, `has ${bytes} bytes, and ${maxBytes} are allowed; send less`, 'string_above_max_length');
  return text;
}

function readPart(part: unknown, place: string): string {
  const { type, text } = isObject(part) ? part : {};
  if (type === 'text' && typeof text === 'string') return text;
  if (typeof type === 'string' && type !== 'text')
    throw invalidField(
      place,
      `is of type ${JSON.stringify(type)}, and only "text" is supported`,
      'unsupported_content',
    );
  throw invalidField(place, 'must be {"type": "text", "text": "..."}');
}
