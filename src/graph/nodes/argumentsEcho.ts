import type { Turn } from '../compile/turn.ts';
import { answeredCalls } from '../compile/turn.ts';
import { parseJsonAt } from '../../chat/json/lenientParser.ts';
import { canonicalJson, isJsonObject } from '../../chat/json/value.ts';

// Longer arguments are not looked for: the start of the answer waits for them.
const maxEchoLength = 4096;

/** Why a text is no answer: it only repeats the arguments of an answered call, as small models do. */
export function echoReason(text: string, { exchanges }: Turn): string | undefined {
  const content = text.trim();
  if (exchanges.length === 0 || !content.startsWith('{') || content.length > maxEchoLength) return undefined;
  const parsed = parseJsonAt(content, 0, { lenient: true });
  if (!parsed.ok || parsed.end < content.length || !isJsonObject(parsed.value) || parsed.value.size === 0)
    return undefined;
  const json = canonicalJson(parsed.value);
  const call = answeredCalls(exchanges).find(({ arguments: args }) => canonicalJson(args) === json);
  return call && `it repeats the arguments of ${call.name}`;
}

/** Whether more of a text may make it such an echo. */
export const mayBeEcho = (text: string, { exchanges }: Turn): boolean =>
  exchanges.length > 0 && text.length <= maxEchoLength && /^\s*(?:$|\{)/.test(text);
