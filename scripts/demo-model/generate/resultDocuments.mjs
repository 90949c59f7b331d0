// Documents about results of calls: the model answers with them, or calls the next tool.
import { answerText, callText, exchangeMessages, randomFormat } from './prompts.mjs';
import { answerTo } from './results.mjs';

const idLetters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'];

/**
 * Creates the branches of such documents: a user's message, calls with their results, and what the model answers.
 * `wanted(tools)` creates a message and its calls, `asked(tool)` one request, `result(call)` a result; `chained(tool)` a
 * request that takes a value from a result (chainedCalls.mjs).
 */
export function resultBranchesFrom({ wanted, asked, chained, result, rng }) {
  const answeredBy = (call, given = result(call)) => ({
    call,
    result: given,
    id: Array.from({ length: 9 }, () => rng.pick(idLetters)).join(''),
  });

  /** A turn in which the model is asked after results; undefined if the random choice is not possible. */
  return function resultBranch(tools, format = randomFormat(rng), { withTools = true } = {}) {
    const say = (text) => (withTools ? answerText(format, text) : text);
    if (withTools && tools.length > 1 && rng.chance(0.12)) return transfer(tools, format);
    const one = wanted(tools);
    if (!one) return undefined;
    const answered = one.calls.map((call) => answeredBy(call));
    // A message may ask for one part of the result.
    const [{ result: first }] = answered;
    const facts = answered.length === 1 ? (first.facts ?? []) : [];
    if (facts.length > 0 && rng.chance(0.5)) return selective(one, answered, { facts, format, say });
    // Some of several calls are made, the next one is due; or they were made one by one.
    const split = answered.length > 1 && rng.chance(0.35);
    if (split && withTools && rng.chance(0.6)) {
      const rest = answered.slice(1).map(({ call }) => call);
      return branch(one.text, [answered.slice(0, 1)], { answer: callText(format, rest), format });
    }
    return branch(one.text, split ? answered.map((each) => [each]) : [answered], {
      answer: say(answerTo(answered)),
      format,
    });
  };

  function selective({ text }, answered, { facts, format, say }) {
    const { asks, answer } = rng.pick(facts);
    const ask = rng.pick(asks);
    const said =
      text.replace(/[.!?]$/, '') + rng.pick([', ', '. ', ' and ', '? ', '; ']) + ask + rng.pick(['?', '.', '']);
    return branch(rng.chance(0.3) ? ask : said, [answered], { answer: say(answer), format });
  }

  // The value that the first call finds goes into the second one.
  function transfer(tools, format) {
    const [first, second] = rng.shuffled(tools);
    const one = asked(first);
    const next = one && chained(second);
    if (!next) return undefined;
    const found = answeredBy(one.calls[0], next.result);
    const text = rng.chance(0.7)
      ? `${one.text.replace(/[.!?]$/, '')}${next.joint}${next.text}`
      : `${next.text}, but ${one.text}`;
    if (rng.chance(0.6)) return branch(text, [[found]], { answer: callText(format, [next.call]), format });
    const last = answeredBy(next.call);
    return branch(text, [[found], [last]], { answer: answerText(format, answerTo([found, last])), format });
  }

  function branch(text, rounds, { answer, format }) {
    const exchange = rounds.flatMap((answered) => exchangeMessages(format, answered));
    return { turns: [{ said: { role: 'user', text }, exchange, answer }], calls: [] };
  }
}
