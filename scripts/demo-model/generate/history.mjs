// Earlier turns as the ToolCall node sees them: texts, and results that stay in the dialog, but never calls.
import { toMessages } from '../../../dist/graph/projection/interactionMessages.js';
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { withPunctuation, withStyle } from './styleVariation.mjs';

/**
 * Creates `earlier(tools, mix)`: messages of earlier turns, and the last of them if it asked for a call (`last`).
 * `asked(tool)` creates a request, `result(call)` a result; `talk` are intents of small talk.
 */
export function historiesFrom({ asked, result, talk, rng }) {
  return function earlier(tools, { busy, replies }) {
    const turns = Array.from({ length: rng.pick([1, 1, 2, 3]) }, () =>
      rng.chance(busy) ? called(rng.pick(tools), replies) : chatted(),
    ).filter(({ interaction: { user, assistant } }) => user !== '' && assistant !== '');
    return { messages: turns.flatMap(({ interaction }) => toMessages(interaction)), last: turns.at(-1)?.last };
  };

  function chatted() {
    const { asked: ways, answer } = rng.pick(talk);
    return { interaction: { user: withPunctuation(rng.pick(ways), { rng }), assistant: answer } };
  }

  function called(tool, replies) {
    const one = asked(tool);
    if (!one) return chatted();
    const [call] = one.calls;
    const answered = rng.chance(0.3) ? result(call) : undefined;
    const staying = answered && rng.chance(0.5);
    const interaction = {
      user: withStyle(one, rng),
      assistant: answered ? answered.answer : rng.pick(replies),
      ...(staying && { results: [{ ...callFields(call), ok: answered.ok, content: answered.content }] }),
    };
    return { interaction, last: { tool, text: one.text, call } };
  }
}

const callFields = (call) => ({ call_id: '', name: call.name, arguments_json: stringifyJson(call.arguments) });
