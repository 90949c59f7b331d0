// A chain, with the graph `butler`: the first result opens the second tool. Start a server (npx turngraph serve), then:
//   node examples/butler.mjs [ws://127.0.0.1:9100]
import { connect, executor } from 'turngraph/client';

const rooms = { aunt: 'library', uncle: 'garden' };
const deliveries = [];
const tools = executor(
  {
    find_person: {
      run({ person }) {
        const name = Object.keys(rooms).find((known) => String(person).toLowerCase().includes(known));
        if (!name) throw new Error(`${person} is not at home`);
        return rooms[name];
      },
    },
    bring_item: {
      run({ item, room }) {
        deliveries.push(`${item} -> ${room}`);
        return 'brought';
      },
    },
  },
  { onEvent: ({ state, call }) => console.log(`  ${state} ${call.toolName} ${call.typedArgumentsJson}`) },
);

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'butler' });
const turn = await agent.send('Bring tea to my aunt.', { tools });
console.log(`< ${turn.text}`);
console.log(turn.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`).join(' '), deliveries);
await client.close();
