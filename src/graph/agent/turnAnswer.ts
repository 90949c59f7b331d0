import type { HeldFields } from '../compile/turn.ts';
import type { AnswerField } from '../../protocol/frames.gen.ts';
import { type JsonValue, stringifyJson } from '../../chat/json/value.ts';
import type { Emit } from './turnOptions.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';

/** Text that one node sends or holds back. */
interface NodeText {
  readonly nodeName: string;
  readonly text: string;
  /** What later prompts show in its place; undefined: the text. */
  prompted?: string | undefined;
}

/** The answer of a turn: the texts and fields that its nodes have sent, and what is held back. */
export class TurnAnswer {
  /** All fields, those that are held back or discarded, too. */
  readonly fields = new Map<string, JsonValue>();
  readonly #emit: Emit;
  readonly #ids: Pick<AnswerField, 'agentId' | 'turnId'>;
  readonly #sent: NodeText[] = [];
  #held: (NodeText & HeldFields) | undefined;

  constructor(emit: Emit, ids: Pick<AnswerField, 'agentId' | 'turnId'>) {
    this.#emit = emit;
    this.#ids = ids;
  }

  get sent(): string {
    return joinTexts(this.#sent);
  }

  /** What was sent, and what is held back, strings in fields included. @param between stands between texts of nodes. */
  text(between: '\n' | ''): string {
    const sent = joinTexts(this.#held ? [...this.#sent, this.#held] : this.#sent, between);
    const fields = [...(this.#held?.fields.values() ?? [])].filter((value) => typeof value === 'string');
    return [sent, ...fields].join('\n');
  }

  /** Sends a text, in frames of the size that clients accept. */
  say(nodeName: string, text: string, kind: 'delta' | 'whole'): void {
    if (text === '') return;
    this.#sent.push({ nodeName, text });
    for (const frame of textFrames(text, kind)) this.#emit('answerText', { ...this.#ids, nodeName, ...frame });
  }

  sayField(node: string, name: string, value: JsonValue): void {
    this.fields.set(name, value);
    this.#emit('answerField', { ...this.#ids, node, name, valueJson: stringifyJson(value) });
  }

  /** What later prompts show in place of the texts of a node since another one was sent, or since the last such call. */
  setPrompted(nodeName: string, prompted: string | undefined): void {
    const before = this.#sent.findLastIndex((sent) => sent.nodeName !== nodeName || sent.prompted !== undefined);
    for (const [index, sent] of this.#sent.slice(before + 1).entries())
      sent.prompted = prompted && (index === 0 ? prompted : '');
  }

  /** The answer as later prompts show it; undefined: as it was sent. */
  get prompted(): string | undefined {
    if (this.#sent.every(({ prompted }) => prompted === undefined)) return undefined;
    return joinTexts(this.#sent.map(({ nodeName, text, prompted = text }) => ({ nodeName, text: prompted })));
  }

  /** Holds a text back. @returns the node whose text it replaces; undefined: none was held. */
  hold(nodeName: string, text: string, held: HeldFields): string | undefined {
    const replaced = this.#held?.nodeName;
    this.#held = { nodeName, text, ...held };
    for (const [name, value] of held.fields) this.fields.set(name, value);
    return replaced;
  }

  /** Discards the held text. */
  release(): void {
    this.#held = undefined;
  }

  flush(): void {
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    for (const [name, value] of held.fields) this.sayField(held.nodeName, name, value);
    this.say(held.nodeName, held.text, 'whole');
    this.setPrompted(held.nodeName, held.prompted);
  }
}

/** A text in frames of the size that clients accept. @param source "client": it is no part of the answer. */
export function textFrames(text: string, kind: 'delta' | 'whole', source: '' | 'client' = '') {
  const pieces = splitToFrames(text);
  const isDelta = kind === 'delta' || pieces.length > 1;
  return pieces.map((piece) => ({ text: piece, isDelta, isFinal: false, source }));
}

// Texts of one node are joined without a separator, texts of different nodes with a line break.
function joinTexts(texts: readonly NodeText[], between: '\n' | '' = '\n'): string {
  return texts.reduce((joined, { nodeName, text }, index) => {
    const previous = texts[index - 1];
    return previous && previous.nodeName !== nodeName ? `${joined}${between}${text}` : joined + text;
  }, '');
}
