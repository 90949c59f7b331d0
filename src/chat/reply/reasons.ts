import { parseJsonText } from '../json/lenientParser.ts';
import type { Token, TokenKind } from './tokens.ts';
import { whyNoCall } from './whyNoCall.ts';

/** Why a block gave no call. */
export interface Reason {
  readonly reason: string;
  /** Whether it is no more than what may remain around a call that was read. */
  readonly isRest: boolean;
}

/** Why tokens gave no call. @param isLast whether the text ends with them. */
export function reasonOf(tokens: readonly Token[], isLast: boolean, toolNames: ReadonlySet<string>): Reason {
  const find = (...kinds: TokenKind[]): Token | undefined => tokens.find(({ kind }) => kinds.includes(kind));
  const json = tokens.find(({ kind, isJson }) => isJson || kind === 'call' || kind === 'data' || kind === 'key');
  const [name, closing, cutOff] = [find('name'), find('closes'), find('cutOff')];
  const opening =
    tokens.findLast(({ kind, start }) => kind === 'opens' && json && start < json.start) ?? find('opens', 'inner');
  const isRest = !json && !name && !opening && (!cutOff || /^.\|?\//.test(cutOff.text));
  const because = (reason: string): Reason => ({ reason, isRest });
  if (name && !opening && json?.kind !== 'key' && name.start < (json?.start ?? Infinity))
    return because('a call has no mark before it');
  if (json) {
    const isAfter = opening && opening.start < json.start;
    const before = json.kind === 'data' && closing ? `before ${closing.text}` : 'of a call';
    return because(`the JSON ${isAfter ? `after ${opening.text}` : before} ${whyNoJsonCall(json, isLast, toolNames)}`);
  }
  if (opening && isLast && !closing) return because(`the text ends inside the call that ${opening.text} opens`);
  if (opening) return because(`no call follows ${opening.text}`);
  if (cutOff) return because('the text ends inside a mark of a call');
  return because(closing ? `${closing.text} closes no call` : `${tokens[0]?.text.trim()} is no mark of a call`);
}

function whyNoJsonCall({ kind, text, pair }: Token, isLast: boolean, toolNames: ReadonlySet<string>): string {
  if (kind === 'key') return 'lacks its opening brace';
  if (kind === 'opener') return isLast && pair === undefined ? 'is cut off by the end of the text' : 'is malformed';
  const value = parseJsonText(text, true);
  const why = value === undefined ? undefined : whyNoCall(value, toolNames);
  return why ?? (kind === 'call' ? 'has a mark of a call in it' : 'is no call');
}
