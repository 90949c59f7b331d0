import { parseJsonAt } from '../../json/lenientParser.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json/value.ts';
import type { CallObjectKeys } from '../../dialect/layout.ts';

/**
 * The keys of a call that is a JSON object, from its text; undefined: the call is no JSON object. The object may be
 * nested in another one (`{"type": "function", "function": {"name": ...}}`).
 */
export function callObjectKeys(
  text: string,
  name: string,
  isArguments: (value: JsonValue) => boolean,
): CallObjectKeys | undefined {
  for (let start = text.indexOf('{'); start >= 0; start = text.indexOf('{', start + 1)) {
    const parsed = parseJsonAt(text, start);
    if (parsed.ok && isJsonObject(parsed.value)) return keysIn(parsed.value, name, isArguments);
  }
  return undefined;
}

function keysIn(
  object: JsonObject,
  name: string,
  isArguments: (value: JsonValue) => boolean,
): CallObjectKeys | undefined {
  const members = [...object];
  const argumentKey = members.find(([, value]) => isArguments(value))?.[0];
  if (argumentKey === name) return { name: undefined, arguments: '' };
  const nameKey = members.find(([, value]) => value === name)?.[0];
  if (nameKey !== undefined && argumentKey !== undefined) return { name: nameKey, arguments: argumentKey };
  for (const [, value] of members) {
    const inner = isJsonObject(value) ? keysIn(value, name, isArguments) : undefined;
    if (inner) return inner;
  }
  return undefined;
}
