import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { defineNode, liveParams } from '../../src/index.ts';
import { Player, serverWith, subprotocols } from '../helpers/server.ts';

const late = defineNode({
  type: 'Late',
  summary: 'Says its word; takes its time to be made and to be changed.',
  params: { type: 'object', properties: { word: { type: 'string', default: 'old', live: true } } },
  exits: ['default'],
  async create(params, supplies) {
    // Who waits for a model lets later requests go on.
    await supplies.model();
    const settings = await liveParams(params, ({ word }) => wait(200, word));
    return {
      async run(turn) {
        turn.sendText(`The ${settings.current} word. `, 'delta');
        return 'default';
      },
      change: settings.change,
    };
  },
});

const graph = {
  start_node: 'late',
  nodes: { late: { type: 'Late', exits: { default: 'answer' } }, answer: { type: 'Generate' } },
};

describe.each(subprotocols)('over %s, requests to an agent that is still being made', (subprotocol) => {
  const serving = () =>
    serverWith({
      extension: { nodeTypes: [late] },
      script: [{ match: 'before a word', answer: 'late', delay_ms: 60_000 }],
    });
  const making = (player: Player): number => player.sends('createAgent', { graphJson: JSON.stringify(graph) });
  const hello = { agentId: 1, text: 'hello' };
  const newWord = { agentId: 1, nodeName: 'late', paramsJson: '{"word": "new"}' };

  it('take effect in their order, as they do when it is there', async () => {
    await using server = await serving();
    await using player = await Player.connect(server.url, subprotocol);
    const asked = [
      making(player),
      player.sends('sendMessage', { agentId: 1, text: 'before a word' }),
      player.sends('clearDialog', { agentId: 1 }),
      player.sends('sendMessage', hello),
    ] as const;
    expect(await player.told(asked[3])).toMatchObject({ status: 'SUCCESS', text: 'The old word. You said: hello' });
    expect(await player.told(asked[1])).toMatchObject({ status: 'CANCELLED' });
    const final = player.heard.filter(({ body }) => ['createAgent', 'turnComplete', 'ack'].includes(body));
    expect(final.map(({ requestId }) => requestId)).toEqual(asked);
  });

  it('wait for one before them that takes its time', async () => {
    await using server = await serving();
    await using player = await Player.connect(server.url, subprotocol);
    making(player);
    player.sends('changeParams', newWord);
    const early = player.sends('sendMessage', hello);
    expect(await player.told(early)).toMatchObject({ text: 'The new word. You said: hello' });
  });

  it('go before those that come when it is there', async () => {
    await using server = await serving();
    await using player = await Player.connect(server.url, subprotocol);
    const made = making(player);
    player.sends('changeParams', newWord);
    await player.answer(made);
    expect(await player.says(1, 'hello')).toMatchObject({ text: 'The new word. You said: hello' });
  });
});
