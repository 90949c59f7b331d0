// Cost of the 2nd to 20th turn of a dialog (model mid), turn by turn on both sides: evaluated tokens (tokens_prompt -
// tokens_reused of TurnComplete), and the client's time from sending to the first piece of text. Where the texts differ it
// says so: a near-tie of this random model may depend on what was evaluated before the message came.
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
  compareTexts(bench, rounds);
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

function compareTexts(bench, rounds) {
  const at = rounds.child.findIndex(({ text }, turn) => text !== rounds.in[turn].text);
  if (at >= 0) bench.log(`the engine process wrote ${rounds.child[at].text}, the server ${rounds.in[at].text}`);
}
