import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import type { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import type { TextRule } from '../../../chat/grammar/rule.ts';
import { joinTexts, likelyContinuations } from '../../decoding/forcedTokens.ts';
import type { Token } from '../../decoding/token.ts';
import type { RemotePrompts } from './remotePrompts.ts';

/** Forced text as tokens. */
export interface RemoteForcedText {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** The position in the grammar after it. */
  readonly matcher: GrammarMatcher;
}

/**
 * The tokens for `ownText` and the text that the grammar forces after it, as ForcedTextTokenizer makes them: trailing tokens
 * that could be part of a longer one are left to the model.
 * @param ownText text that was chosen and is not in tokens yet; may be empty.
 * @param matcher the position in the grammar after `ownText`.
 */
export async function forceRemotely(
  ownText: string,
  matcher: GrammarMatcher,
  prompts: RemotePrompts,
): Promise<RemoteForcedText> {
  const { vocabulary } = prompts;
  const { texts, matcher: after } = matcher.forcedText();
  const controlOf = ({ text, control }: TextRule): Token | undefined =>
    control ? vocabulary.controlToken(text) : undefined;
  const headCount = texts.findLastIndex((rule) => controlOf(rule) !== undefined) + 1;
  const head = texts.slice(0, headCount);
  const headTokens: Token[] = headCount > 0 ? [...(await prompts.continuation(ownText, false))] : [];
  for (const rule of head) {
    const token = controlOf(rule);
    headTokens.push(...(token === undefined ? await prompts.continuation(rule.text, false) : [token]));
  }
  const ownTail = headCount > 0 ? '' : ownText;
  const tail = ownTail + joinTexts(texts.slice(headCount));
  const tailTokens = await prompts.continuation(tail, false);
  const whole = {
    text: ownText + joinTexts(texts),
    tokens: [...headTokens, ...tailTokens],
    matcher: after,
  };
  if (after.mustEnd) return whole;
  const others = await Promise.all(
    likelyContinuations(after).map((continuation) => prompts.continuation(tail + continuation, false)),
  );
  const keptCount = Math.min(tailTokens.length, ...others.map((other) => commonPrefixLength(tailTokens, other)));
  const keptTokens = tailTokens.slice(0, keptCount);
  const keptText = await prompts.spell(keptTokens);
  const canDrop = headTokens.length + keptCount > 0 && keptText.length >= ownTail.length && tail.startsWith(keptText);
  if (keptCount === tailTokens.length || !canDrop) return whole;
  const forced = joinTexts(head) + keptText.slice(ownTail.length);
  return { text: ownText + forced, tokens: [...headTokens, ...keptTokens], matcher: matcher.accept(forced).matcher };
}
