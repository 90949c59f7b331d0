import { isObject } from '../../../base/jsonTypes.ts';
import { optional } from './openAiIdentity.ts';
import type { ServerJson } from '../connection/serverJson.ts';

/** The control strings of a model, as far as they are known. */
export interface ControlStrings {
  readonly strings: readonly string[];
  /** Whether there are no others. */
  readonly areAll: boolean;
  /** "" = not known. */
  readonly bos: string;
  /** "" = not known. */
  readonly eos: string;
}

/**
 * Asks a server for the control strings of its model. vLLM tells them (/tokenizer_info) where an option allows it; else they
 * are those in the chat template that look like one.
 */
export async function readControlStrings(
  json: ServerJson,
  template: string,
  signal: AbortSignal,
): Promise<ControlStrings> {
  const info = await optional(json.get('/tokenizer_info', signal));
  const added = info['added_tokens_decoder'];
  const entries = isObject(added) ? Object.values(added) : [];
  const named = info['additional_special_tokens'];
  const [bos, eos] = [contentOf(info['bos_token']), contentOf(info['eos_token'])];
  const others = [info['pad_token'], info['unk_token'], ...(Array.isArray(named) ? (named as readonly unknown[]) : [])];
  const special = [bos, eos, ...others.map(contentOf), ...entries.filter(isSpecial).map(contentOf)];
  const areAll = entries.length > 0;
  const strings = [...special, ...(areAll ? [] : controlLike(template))].filter((text) => text !== '');
  return { strings: [...new Set(strings)], areAll, bos, eos };
}

/** Whether an added token is a control token. vLLM tells the strings of all added tokens, and not which of them are. */
const isSpecial = (token: unknown): boolean =>
  isObject(token) ? token['special'] === true : controlLike(contentOf(token))[0] === token;

/** Strings in a text that control tokens look like. Tags such as `<tool_call>` are words of the vocabularies that have them. */
export const controlLike = (text: string): readonly string[] => text.match(controlPattern) ?? [];

const controlPattern =
  /<[|｜][^<>|｜\s'"]{1,60}[|｜]>|<\/?s>|<(?:bos|eos|pad|unk|mask|(?:start|end)_of_(?:turn|image|utterance|role|text))>|\[\/?[A-Z][A-Z_]{2,30}\]/g;

const contentOf = (token: unknown): string => {
  const content = isObject(token) ? token['content'] : token;
  return typeof content === 'string' ? content : '';
};
