import { findJsonExcess, jsonExcesses, maxClientValues } from '../../base/jsonBounds.ts';
import { Fault } from '../../protocol/fault.ts';

/** Refuses a text that is too large. @throws Fault LIMIT_EXCEEDED */
export function checkSize(field: string, text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw new Fault('LIMIT_EXCEEDED', `${field} has ${bytes} bytes, and ${maxBytes} are allowed; send less`);
}

/** Refuses a JSON text with too many values before it is parsed. @throws Fault LIMIT_EXCEEDED */
export function checkValues(field: string, json: string): void {
  if (findJsonExcess(json, maxClientValues) === 'values')
    throw new Fault('LIMIT_EXCEEDED', `${field} ${jsonExcesses.values}`);
}
