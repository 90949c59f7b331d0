import type { Turn } from '../compile/turn.ts';
import { answeredCalls } from '../compile/turn.ts';
import { parseJsonObject } from '../../chat/json/lenientParser.ts';
import { canonicalJson } from '../../chat/json/value.ts';

// Longer arguments are not looked for: the start of the answer waits for them.
const maxEchoLength = 4096;

/** Why a text is no answer: it only repeats the arguments of an answered call, as small models do. */
export function echoReason(text: string, { exchanges }: Turn): string | undefined {
  const content = text.trim();
  if (exchanges.length === 0 || !content.startsWith('{') || content.length > maxEchoLength) return undefined;
  const repeated = parseJsonObject(content, true);
  if (!repeated || repeated.size === 0) return undefined;
  const json = canonicalJson(repeated);
  const call = answeredCalls(exchanges).find(({ arguments: args }) => canonicalJson(args) === json);
  return call && `it repeats the arguments of ${call.name}`;
}

/** Whether more of a text may make it such an echo. */
export const mayBeEcho = (text: string, { exchanges }: Turn): boolean =>
  exchanges.length > 0 && text.length <= maxEchoLength && /^\s*(?:$|\{)/.test(text);
