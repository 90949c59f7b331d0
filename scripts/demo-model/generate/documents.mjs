// Documents to learn from. One list of tools (or one character) is followed by many messages that do not know of each
// other, so that a long list of tools is read once and used often.
import { heldOut, likenessOf, partOf } from './catalogue.mjs';
import { dressed, finished } from './manners.mjs';
import { ask } from './requests.mjs';
import { aside, characterAsides, characterTalk, instructions, noTool, resultOf, smallTalk } from './talk.mjs';
import { toolOf } from './tools.mjs';
import { valuesFrom } from './values.mjs';
import { blockFor, callText, formatNames, resultMessage } from './prompts.mjs';

// What training never sees of actions, and of the requests of those that it sees.
const shares = { actions: 0.07, requests: 0.06 };

// How alike actions of different files may be, to stand in one list, and for one to be asked for where only the other is.
const likeness = { together: 0.38, instead: 0.22 };

/** Makes documents of a part, `train` or `held`, of the catalogue; all of them from one chance. */
export function documentsFrom({ actions, values: pools, chat, asides: said }, chance, part = 'train') {
  const shipped = actions.filter(({ topic }) => topic === 'shipped');
  const isHeld = ({ action }) => heldOut(`action ${action}`, shares.actions);
  const others = actions.filter((action) => action.topic !== 'shipped' && isHeld(action) === (part === 'held'));
  const byTopic = grouped(others);
  const requests = new Map(actions.map((action) => [action, requestsOf(action, part)]));
  const draw = valuesFrom(pools, chance, part);
  const alike = likenessOf(actions);
  const same = (one, other, limit) => one.topic !== other.topic && alike(one, other) > limit;
  const talk = smallTalk(chat, part);
  const asides = characterAsides(chat, part);
  const remarks = partOf(part, said, shares.requests, (text) => `aside ${text}`);

  const asked = (tool, calls) => ask(tool, { requests: requests.get(tool.action), draw, chance, calls });

  function toolsOf(count, { own }) {
    const camel = chance.often(0.1);
    const near = chance.often(0.5) ? chance.pick([...byTopic.keys()]) : undefined;
    const chosen = new Set();
    const names = new Set();
    const tools = [];
    while (tools.length < count) {
      const close = near !== undefined && chance.often(0.8) && byTopic.get(near).length > count;
      const list = own ? shipped : close ? byTopic.get(near) : others;
      const action = chance.pick(list);
      if (chosen.has(action) || [...chosen].some((other) => same(action, other, likeness.together))) continue;
      const tool = toolOf(action, { chance, part, camel, plain: own && chance.often(0.7) });
      if (names.has(tool.declaration.name)) continue;
      chosen.add(action);
      names.add(tool.declaration.name);
      tools.push(tool);
    }
    return tools;
  }

  /** Messages of one call, of several calls, and of none. */
  function message(tools, format, index, { quiet, several, own }) {
    const plain = (calls, text) => ({ text, answer: callText(format, calls), calls });
    if (chance.often(quiet)) return silent(tools, own);
    if (chance.often(several)) {
      const both = doubled(tools);
      if (both) return plain(both.calls, both.text);
    }
    const tool = chance.often(0.6) ? tools[index % tools.length] : chance.pick(tools);
    const one = asked(tool);
    return one ? plain(one.calls, beside(dressed(one, chance))) : undefined;
  }

  function doubled(tools) {
    const count = chance.often(0.15) ? 3 : 2;
    if (chance.often(0.4)) {
      const shared = asked(chance.pick(tools), count);
      if (shared) return { calls: shared.calls, text: beside(dressed(shared, chance)) };
    }
    const parts = Array.from({ length: count }, () => asked(chance.pick(tools)));
    if (parts.some((one) => one === undefined)) return undefined;
    const calls = parts.flatMap((one) => one.calls);
    if (new Set(calls.map((call) => JSON.stringify(call))).size < count) return undefined;
    const joint = () =>
      chance.pick([
        ' and ',
        ' and ',
        ' and ',
        ', then ',
        ', and then ',
        ', ',
        ' and also ',
        '; ',
        '. Also ',
        '. Then ',
        '. ',
      ]);
    const text = parts.slice(1).reduce((whole, { text: next }) => {
      const between = joint();
      return whole + between + (between === '. ' ? finished(next, { chance }).replace(/[.!?]$/, '') : next);
    }, parts[0].text);
    return { calls, text: dressed({ text, opensWithValue: parts[0].opensWithValue }, chance) };
  }

  // Small talk, or what none of the tools on offer can do.
  function silent(tools, own) {
    if (chance.often(0.15)) return { text: finished(remark(), { chance }), answer: aside, calls: [] };
    if (chance.often(0.2)) {
      const { asked: ways, answer } = chance.pick(chance.often(own ? 0.6 : 0.25) ? asides : talk);
      return { text: finished(chance.pick(ways), { chance }), answer, calls: [] };
    }
    const offered = new Set(tools.map(({ action }) => action));
    const topics = new Set(tools.map(({ action }) => action.topic));
    const foreign = chance.often(0.5) ? others.filter(({ topic }) => !topics.has(topic)) : others;
    const action = chance.pick(foreign.length > 0 ? foreign : others);
    if (offered.has(action) || [...offered].some((other) => same(action, other, likeness.instead))) return undefined;
    const one = asked(toolOf(action, { chance, part }));
    return one && { text: beside(dressed(one, chance)), answer: noTool, calls: [] };
  }

  /** Something that one says, and nobody has to do anything. */
  function remark() {
    return chance
      .pick(remarks)
      .replaceAll(/\{(\w+)\}/g, (_, pool) =>
        pool === 'n' ? String(1 + chance.below(99)) : draw({ kind: 'text', values: pool }).said,
      );
  }

  // People say why, or something else, before they say what they want, and after: only one thing is to be done.
  function beside(text) {
    if (chance.often(0.82)) return text;
    const other = finished(remark(), { chance });
    const closed = /[.!?]$/.test(other) ? other : `${other}.`;
    if (chance.often(0.3))
      return /[.!?]$/.test(text) ? `${text} ${other}` : `${text}, ${other.charAt(0).toLowerCase()}${other.slice(1)}`;
    return chance.often(0.7)
      ? `${closed} ${text}`
      : `${closed.slice(0, -1)}, ${chance.pick(['so ', 'and ', 'but ', ''])}${text.charAt(0).toLowerCase()}${text.slice(1)}`;
  }

  /** A list of tools and messages about it; `only` narrows what the choices would be. */
  function toolDocument({
    format = chance.pick(formatNames),
    tools: count = chance.pick([1, 1, 2, 2, 3, 3, 4, 5, 6]),
    messages,
    own = false,
    quiet = 0.45,
    several = 0.16,
  } = {}) {
    const tools = toolsOf(own ? Math.min(count, shipped.length) : count, { own });
    const system = chance.often(0.45) ? '' : chance.pick(instructions);
    const history = chance.often(0.1) ? earlier(tools) : [];
    const branches = [];
    for (
      let index = 0, wanted = messages ?? 5 + chance.below(5 + 2 * tools.length);
      branches.length < wanted;
      index++
    ) {
      const said = message(tools, format, index, { quiet, several, own });
      if (!said) continue;
      const turns = [{ said: { role: 'user', text: said.text }, answer: said.answer }];
      if (said.calls.length === 1 && chance.often(0.04)) {
        const { result, reply } = resultOf(chance);
        turns.push({ said: resultMessage(format, result), answer: reply });
      }
      branches.push({ turns, calls: said.calls });
    }
    return {
      format,
      system,
      tools: blockFor(
        tools.map(({ declaration }) => declaration),
        format,
      ),
      declarations: tools.map(({ declaration }) => declaration),
      history,
      branches,
    };
  }

  // What was said before: a turn that ended with words, as the node that looks for calls is shown it.
  function earlier(tools) {
    const one = chance.often(0.5) ? asked(chance.pick(tools)) : undefined;
    const { asked: ways, answer } = chance.pick(talk);
    const said = one ? dressed(one, chance) : finished(chance.pick(ways), { chance });
    const done = ['Done.', 'Here you go.', 'As you wish.', 'Consider it done.', 'All right.'];
    return [
      { role: 'user', text: said },
      { role: 'assistant', text: one ? chance.pick(done) : answer },
    ];
  }

  /** A character, or a helpful assistant, and some conversations. */
  function talkDocument() {
    const { system, intents } = characterTalk(chat, chance, part);
    const branches = Array.from({ length: 4 + chance.below(5) }, () => {
      const turns = Array.from({ length: chance.pick([1, 1, 2, 3]) }, () => {
        const { asked: ways, answer } = chance.pick(intents);
        return { said: { role: 'user', text: finished(chance.pick(ways), { chance }) }, answer };
      });
      return { turns, calls: [] };
    });
    return { system, history: [], branches };
  }

  return { toolDocument, talkDocument };
}

const requestsOf = (action, part) =>
  // Of an action that training never sees, everything is unseen.
  heldOut(`action ${action.action}`, shares.actions) && action.topic !== 'shipped'
    ? action.requests
    : partOf(part, action.requests, shares.requests, (text) => `request ${text}`);

function grouped(list) {
  const groups = new Map();
  for (const entry of list) groups.set(entry.topic, [...(groups.get(entry.topic) ?? []), entry]);
  return groups;
}
