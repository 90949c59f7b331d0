// Questions with a word as the answer: which label fits a message (the Route node), and whether a condition holds (SelectTools).
import { resultLine } from '../../../dist/tools/calls.js';
import { stringifyJson } from '../../../dist/tools/json/value.js';
import { isCommand, withPunctuation, withStyle } from './styleVariation.mjs';

const other = {
  names: ['chat', 'other', 'small_talk', 'talk', 'none', 'something_else', 'unknown', 'rest', 'general'],
  whens: [
    'anything else',
    'anything else',
    'small talk and anything else',
    'none of these',
    '',
    'all other messages',
    'the user just talks',
  ],
};
const wishes = [
  'the user wants to {deed}',
  'the user wants to {deed}',
  'the user asks to {deed}',
  'to {deed}',
  'a request to {deed}',
];
const topics = ['this is wanted: {text}', '{text}', 'it is about this: {text}'];

/**
 * Creates `routeDocument()` and `conditionDocument()`. `tool()` declares a tool of a random action, `group(count)` some of different
 * actions, `asked(tool)` creates a request, `aside()` a message that requests nothing, `result(call)` a result.
 */
export function choiceDocumentsFrom({ group, asked, aside, result, history, rng }) {
  return { routeDocument, conditionDocument };

  function routeDocument() {
    const tools = group(rng.pick([1, 2, 2, 2, 3, 3, 4]));
    const labels = tools.map((tool) => ({ tool, name: labelOf(tool), when: rng.chance(0.93) ? purposeOf(tool) : '' }));
    const rest =
      tools.length === 1 || rng.chance(0.7) ? { name: rng.pick(other.names), when: rng.pick(other.whens) } : undefined;
    const all = rest ? (rng.chance(0.8) ? [...labels, rest] : rng.shuffled([...labels, rest])) : labels;
    if (new Set(all.map(({ name }) => name)).size < all.length) return routeDocument();
    const lines = all.map((label) => labelLine(label)).join('\n');
    const system = `Read the user's message and reply with one label only.\n\nLabels:\n${lines}`;
    const branches = Array.from({ length: 6 + rng.below(7) }, () => {
      if (rest && rng.chance(0.35)) return answered(aside(), rest.name);
      const { tool, name } = rng.pick(labels);
      const one = asked(tool);
      return one ? answered(withStyle(one, rng), name) : undefined;
    });
    return { system, history: rng.chance(0.25) ? history(tools) : [], branches: branches.filter(Boolean) };
  }

  function labelLine({ tool, name, when }) {
    const examples =
      tool && rng.chance(0.4) ? Array.from({ length: rng.pick([1, 2, 3]) }, () => asked(tool)).filter(Boolean) : [];
    const said = examples.map(
      (one) => `"${rng.chance(0.4) ? withPunctuation(one.text, { rng, opens: one.opensWithValue }) : one.text}"`,
    );
    const described = when === '' ? `- ${name}` : `- ${name}: ${when}`;
    if (said.length === 0) return described;
    return when === '' ? `${described}: such as ${said.join(', ')}` : `${described}, such as ${said.join(', ')}`;
  }

  function conditionDocument() {
    const system = "Read the user's message and decide whether a condition holds. Reply with yes or no only.";
    const tools = group(4);
    const branches = Array.from({ length: 10 + rng.below(8) }, () => conditionBranch(tools));
    return { system, history: rng.chance(0.2) ? history(tools) : [], branches: branches.filter(Boolean) };
  }

  function conditionBranch(tools) {
    const [tool, stranger] = rng.shuffled(tools);
    const one = rng.chance(0.8) ? asked(tool) : undefined;
    const results = one && rng.chance(0.25) ? one.calls.map((call) => ({ call, result: result(call) })) : [];
    const lines = results.map(({ call, result: { ok, content } }) =>
      resultLine({ name: `${call.name} ${stringifyJson(call.arguments)}`, ok, content }).replace(/^Result of /, ''),
    );
    const holds = one !== undefined && rng.chance(0.55);
    const condition = purposeOf(holds ? tool : one ? stranger : tool);
    const message = one ? withStyle(one, rng) : aside();
    const asks = [`Message: ${message}`, ...lines.map((line) => `Results: ${line}`), `Condition: ${condition}`].join(
      '\n',
    );
    return answered(asks, holds ? 'yes' : 'no');
  }

  function labelOf({ action, declaration }) {
    return rng.chance(0.5) ? rng.pick(action.names) : rng.pick([declaration.name, ...declaration.name.split('_')]);
  }

  // What a tool is for, as the condition of a label or a guideline.
  function purposeOf({ action }) {
    const text = rng.pick(action.descriptions).replace(/\.$/, '');
    const [verb, ...words] = text.split(' ');
    const deed = [bareVerb(verb.toLowerCase()), ...words].join(' ');
    if (isCommand(deed)) return rng.pick(wishes).replace('{deed}', deed);
    return rng.pick(topics).replace('{text}', text.charAt(0).toLowerCase() + text.slice(1));
  }
}

const answered = (text, answer) => ({ turns: [{ said: { role: 'user', text }, answer }], calls: [] });

// "switches" to "switch".
function bareVerb(verb) {
  if (isCommand(verb)) return verb;
  const stems = [verb.replace(/s$/, ''), verb.replace(/es$/, ''), verb.replace(/ies$/, 'y')];
  return stems.find((stem) => stem !== verb && isCommand(stem)) ?? verb;
}
