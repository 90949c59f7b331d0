// Generates training documents. One list of tools (or one character) is the shared prefix of many independent messages, so
// that a long list is evaluated once and used often.
import { stringifyJson } from '../../../dist/chat/json/value.js';
import { grouped, maxSimilarity, requestsOf, shares, splitActions } from './actionSplit.mjs';
import { partOf } from './catalogue.mjs';
import { withStyle, withPunctuation, isQuestion } from './styleVariation.mjs';
import { callWithResult } from './chainedCalls.mjs';
import { choiceDocumentsFrom } from './choiceDocuments.mjs';
import { historiesFrom } from './history.mjs';
import { repeatedCallRequest } from './repeatedCalls.mjs';
import { defaultMix, hardMix } from './lessonMix.mjs';
import { messagesFrom } from './messages.mjs';
import { fillerFrom } from './placeholders.mjs';
import { reportsFrom } from './reports.mjs';
import { createRequest } from './requests.mjs';
import { resultBranchesFrom } from './resultDocuments.mjs';
import { resultsFrom } from './results.mjs';
import { characterAsides, characterPrompt, characterTalk, instructions, smallTalk } from './smallTalk.mjs';
import { toolOf } from './tools.mjs';
import { topicMessagesFrom } from './topicMessages.mjs';
import { valuesFrom } from './values.mjs';
import { blockFor, randomFormat } from './prompts.mjs';

/**
 * A conversation about a list of tools, and the calls that are expected.
 * @typedef {object} Branch
 * @property {readonly {
 *   readonly said: { readonly role: string, readonly text: string },
 *   readonly answer: string,
 * }[]} turns
 * @property {readonly { readonly name: string, readonly arguments: Readonly<Record<string, unknown>> }[]} calls
 */

/**
 * A list of tools, and conversations about it that do not see each other.
 * @typedef {object} ToolDocument
 * @property {readonly {
 *   readonly name: string,
 *   readonly parameters: readonly { readonly name: string, readonly enum?: readonly unknown[] }[],
 * }[]} declarations
 * @property {readonly Branch[]} branches
 */

/**
 * Creates the generator of documents of one part of the catalogue; all its random choices come from one generator.
 * @param {import('./catalogue.mjs').Catalogue} catalogue
 * @param {import('../../seededRandom.mjs').Rng} rng
 * @param {'train' | 'held'} [part]
 * @returns {{ toolDocument: (mix?: object) => ToolDocument, talkDocument: (mix?: object) => object }}
 */
export function documentsFrom({ actions, values: pools, chat, asides, ...texts }, rng, part = 'train') {
  const { alike, same, shipped, [part]: others } = splitActions(actions);
  const byTopic = grouped(others);
  const requests = new Map(actions.map((action) => [action, requestsOf(action, part)]));
  const draw = valuesFrom(pools, rng, part);
  const talk = smallTalk(chat, part);
  const inPart = (list) => partOf(part, list, shares.requests, (text) => `aside ${text}`);

  const fill = fillerFrom({ draw, rng });
  const result = resultsFrom({ texts: texts.results, fill, rng });
  const remarks = inPart(asides.remarks);
  const report = reportsFrom({ texts: texts.reports, results: texts.results, remark: () => remark(), fill, rng });
  const requestFactory = (way) => (tool, calls) => way(tool, { requests: requests.get(tool.action), draw, rng, calls });
  const asked = requestFactory(createRequest);
  const { message, remark } = messagesFrom({
    asked,
    inTurn: requestFactory(repeatedCallRequest),
    foreignTo,
    talk,
    fill,
    report,
    rng,
    again: texts.reports.again,
    asides: characterAsides(chat, part),
    remarks,
    refusals: inPart(asides.refusals),
  });

  const earlier = historiesFrom({ asked, result, talk, rng });
  const resultBranch = resultBranchesFrom({
    asked,
    result,
    rng,
    wanted: (tools) => message(tools, 'chatml', rng.below(9), { ...hardMix, quiet: 0, reports: 0, several: 0.25 }),
    chained: (tool) => callWithResult(tool, { requests: requests.get(tool.action), draw, rng }),
  });
  const topicMessages = topicMessagesFrom({
    topics: texts.topics,
    requests: others.flatMap((action) => requests.get(action).map((request) => ({ action, request }))),
    remarks: [...remarks, ...talk.flatMap(({ asked: ways }) => ways)],
    ask: (action, request) => createRequest(toolOf(action, { rng, part }), { requests: [request], draw, rng })?.text,
    fill,
    rng,
  });
  const { routeDocument, conditionDocument } = choiceDocumentsFrom({
    ...topicMessages,
    topics: texts.topics,
    asked,
    result,
    rng,
    group: (count) => toolsOf(count, { own: false }),
    aside,
    history: (tools) => earlier(tools, hardMix).messages,
  });

  function toolsOf(count, { own, pairs = false }) {
    const camel = rng.chance(0.1);
    const near = rng.chance(0.5) ? rng.pick([...byTopic.keys()]) : undefined;
    const chosen = new Set();
    const names = new Set();
    const tools = [];
    while (tools.length < count) {
      const close = near !== undefined && rng.chance(0.8) && byTopic.get(near).length > count;
      const list = own ? shipped : close ? byTopic.get(near) : others;
      const action = rng.pick(list);
      if (pairs && Object.keys(action.parameters).length < 2) continue;
      if (chosen.has(action) || [...chosen].some((other) => same(action, other, maxSimilarity.together))) continue;
      const tool = toolOf(action, { rng, part, camel, plain: own && rng.chance(0.7) });
      if (names.has(tool.declaration.name)) continue;
      chosen.add(action);
      names.add(tool.declaration.name);
      tools.push(tool);
    }
    return tools;
  }

  // A message that requests nothing, or something of a random action.
  function aside() {
    const said = message([], 'chatml', 0, { ...hardMix, quiet: 1, reports: 0, strangers: ['any'] });
    return said ? said.text : aside();
  }

  /** A request that none of the tools can serve; undefined if the random action resembles one of them. */
  function foreignTo(tools, { own, strangers }) {
    const offered = new Set(tools.map(({ action }) => action));
    const topics = new Set(tools.map(({ action }) => action.topic));
    const how = rng.pick(strangers);
    const foreign = how === 'any' ? others : others.filter(({ topic }) => topics.has(topic) === (how === 'near'));
    const action = rng.pick(foreign.length > 0 ? foreign : others);
    const limit = own ? maxSimilarity.insteadOfShipped : maxSimilarity.instead;
    if (offered.has(action) || [...offered].some((other) => same(action, other, limit))) return undefined;
    if (how === 'near' && [...offered].some((other) => alike(action, other) > limit)) return undefined;
    return asked(toolOf(action, { rng, part }));
  }

  /** A list of `tools` tools (of the shipped ones: `own`; with two parameters or more: `pairs`) and `messages` messages; the other options are a mix (lessonMix.mjs). */
  function toolDocument(options) {
    const {
      format = randomFormat(rng),
      tools: count = rng.pick([1, 1, 2, 2, 3, 3, 4, 5, 6]),
      messages,
      own = false,
      pairs = false,
      ...mix
    } = { ...defaultMix, ...options };
    const tools = toolsOf(own ? Math.min(count, shipped.length) : count, { own, pairs });
    const wanted = messages ?? 5 + rng.below(5 + 2 * tools.length);
    const past = rng.chance(mix.past) ? earlier(tools, mix) : { messages: [] };
    const branches = [];
    for (let index = 0; branches.length < wanted; index++) {
      const said = message(tools, format, index, { own, last: past.last, ...mix });
      if (said)
        branches.push({ turns: [{ said: { role: 'user', text: said.text }, answer: said.answer }], calls: said.calls });
    }
    return { ...offer(tools, format, past.last), history: past.messages, branches };
  }

  function offer(tools, format, last) {
    const declarations = tools.map(({ declaration }) => declaration);
    const system = last && rng.chance(0.12) ? withLastResult(systemPrompt(), last) : systemPrompt();
    return { format, system, tools: blockFor(declarations, format), declarations };
  }

  /** A list of tools, and turns in which results of calls are there already. */
  function resultDocument({ busy, replies }, { own = false } = {}) {
    const format = randomFormat(rng);
    const tools = toolsOf(own ? 3 : rng.pick([1, 1, 2, 2, 3, 4]), { own });
    const history = rng.chance(0.2) ? earlier(tools, { busy, replies }).messages : [];
    return { ...offer(tools, format), history, branches: resultBranches(() => resultBranch(tools, format)) };
  }

  /** A Generate node that answers with results: no tools are offered any more. */
  function answerDocument({ busy, replies }) {
    const system = rng.chance(0.7) ? rng.pick(texts.results.systems) : systemPrompt();
    const history = rng.chance(0.2) ? earlier(toolsOf(2, { own: false }), { busy, replies }).messages : [];
    const branches = resultBranches(() =>
      resultBranch(toolsOf(2, { own: rng.chance(0.1) }), randomFormat(rng), { withTools: false }),
    );
    return { system, history, branches };
  }

  function resultBranches(create) {
    return Array.from({ length: 5 + rng.below(8) }, create).filter((branch) => branch !== undefined);
  }

  // The results of the last calls in the system prompt, as a program adds them (docs/executor.md).
  function withLastResult(system, { call }) {
    const { ok, content } = result(call);
    return `${system} Results of your last calls: ${stringifyJson([{ ...call, ok, content }])}`.trim();
  }

  function systemPrompt() {
    if (rng.chance(0.45)) return '';
    return rng.chance(0.25) ? characterPrompt(chat, rng) : rng.pick(instructions);
  }

  /** A character or a helpful assistant, and some conversations, sometimes after earlier tool turns. */
  function talkDocument({ replies } = defaultMix) {
    const { system, intents, unsure } = characterTalk(chat, rng, part);
    const history = rng.chance(0.25)
      ? earlier(toolsOf(2, { own: rng.chance(0.5) }), { busy: defaultMix.busy, replies }).messages
      : [];
    const branches = Array.from({ length: 4 + rng.below(5) }, () => {
      if (rng.chance(0.08)) return { turns: [thanked()], calls: [] };
      const turns = Array.from({ length: rng.pick([1, 1, 2, 3]) }, () => {
        const { text, answer } = rng.chance(0.15) ? unexpected(unsure) : expected(intents);
        return { said: { role: 'user', text: withPunctuation(text, { rng }) }, answer };
      });
      return { turns, calls: [] };
    });
    return { system, history, branches };
  }

  // A message that says what came of a call, to a node without tools.
  function thanked() {
    const { text, thanks } = report();
    return { said: { role: 'user', text }, answer: thanks ? "You're welcome!" : 'Good to know.' };
  }

  function expected(intents) {
    const { asked: ways, answer } = rng.pick(intents);
    return { text: rng.pick(ways), answer };
  }

  // A message that the character has no answer for.
  function unexpected({ question, remark: comment, request }) {
    const one = rng.chance(0.3) ? asked(toolOf(rng.pick(others), { rng, part })) : undefined;
    if (one) return { text: withStyle(one, rng), answer: request };
    const text = remark();
    return { text, answer: isQuestion(text) ? question : comment };
  }

  return { toolDocument, talkDocument, resultDocument, answerDocument, routeDocument, conditionDocument };
}
