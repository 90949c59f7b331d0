// A shop sells only what it has: the stock goes along with each message. Start a server (npx turngraph serve), then:
//   node examples/shop.mjs [ws://127.0.0.1:9100]
import { connect, executor } from 'turngraph/client';

const stock = new Set(['rope', 'lamp', 'potion']);

const tools = executor({
  sell_item: {
    run({ item }) {
      // The graph has checked it already. A game still decides for itself.
      if (!stock.delete(item)) throw new Error(`the ${item} is sold`);
      return `a ${item}`;
    },
  },
});

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'shop' });
for (const message of [
  'I would like a rope.',
  'Sell me a crown.',
  'I would like a rope.',
  'Give me the lamp, please.',
]) {
  // "enum_from": "inventory" of the tool reads this list.
  const variables = { inventory: JSON.stringify([...stock]) };
  console.log(`> ${message} (${[...stock].join(', ')})`);
  const turn = await agent.send(message, { tools, variables });
  console.log(`< ${turn.text}`);
}
await client.close();
