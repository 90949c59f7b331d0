// Cost of the 2nd to 20th turn of a dialog (model mid), turn by turn on both sides: evaluated tokens (tokens_prompt -
// tokens_reused of TurnComplete), and the client's time from sending to the first piece of text. Both sides must write the
// same texts, in a conversation until one side has evaluated more before a message than the other: from there on a near-tie of
// this random model may end in another way.
import { timeTurn, generateGraph } from '../client.mjs';
import { story } from '../prompts.mjs';
import { measureInterleaved, medianOf } from '../results.mjs';
import { openSides, ratioResult } from './sides.mjs';

const turns = 20;
const maxTokens = 24;
const graph = generateGraph(maxTokens, { system_prompt: `You are the keeper of a lighthouse. ${story(5, 60)}` });

/** Measures both sides. */
export async function nextTurns(bench) {
  const file = await bench.file('mid');
  const clients = await openSides(bench, { file }, (client) => client);
  const rounds = { child: [], in: [] };
  for (let conversation = 0; conversation < bench.repeats(3, 1); conversation++) {
    bench.log(`next-turn, conversation ${conversation + 1}`);
    const sides = {};
    for (const [engine, client] of Object.entries(clients))
      sides[engine] = converse(await client.createAgent({ graph }), turns * conversation);
    // The first turn of each dialog is the warm-up.
    const measured = await measureInterleaved(sides, turns - 1);
    for (const engine of Object.keys(sides)) rounds[engine].push(...measured[engine]);
  }
  check(rounds);
  const ratio = (of, unit, pick) =>
    ratioResult({
      of: `next-turn, ${of}`,
      child: medianOf(rounds.child, pick),
      inProcess: medianOf(rounds.in, pick),
      unit,
      goal: 1.05,
      better: 'lower',
    });
  return [ratio('tokens', 'Tokens', (turn) => turn.evaluated), ratio('first token', 'Ms', (turn) => turn.first)];
}

const converse = (agent, seed) => async (turn) => {
  const { first, turn: answer } = await timeTurn(agent, story(7000 + 31 * (seed + turn), 30));
  return { first, evaluated: answer.tokens.prompt - answer.tokens.reused, text: answer.text };
};

function check(rounds) {
  for (let start = 0; start < rounds.child.length; start += turns - 1) {
    const [child, own] = [rounds.child, rounds.in].map((all) => all.slice(start, start + turns - 1));
    const unlike = child.findIndex(({ evaluated }, turn) => evaluated !== own[turn].evaluated);
    const at = child.findIndex(({ text }, turn) => text !== own[turn].text);
    if (at >= 0 && (unlike < 0 || at < unlike))
      throw new Error(`the engine process wrote ${child[at].text}, the server ${own[at].text}`);
  }
}
