import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { repositoryPath, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({});

/** What is said, and the transfer that comes of it; undefined: none. */
const dialogs: readonly (readonly [readonly string[], object | undefined])[] = [
  [['Send money to Ada.', '20 coins.'], { amount: 20, recipient: 'Ada' }],
  [['Send gold to Ada.', '50 gold'], { amount: 50, recipient: 'Ada' }],
  [['Transfer some money to Marta.', 'Make it 75.'], { amount: 75, recipient: 'Marta' }],
  [['Send money to Lena.', 'Never mind.'], undefined],
  [['Send money to Tom.', '5'], { amount: 5, recipient: 'Tom' }],
  [['Send money to Ada.', 'No, to Bob. 25 coins.'], { amount: 25, recipient: 'Bob' }],
  [['Transfer money to Lena.', 'Let us say 30.'], { amount: 30, recipient: 'Lena' }],
  [['Please send money to Paul.', 'fifteen'], { amount: 15, recipient: 'Paul' }],
  [['Can you send money to Mia?', '80, please.'], { amount: 80, recipient: 'Mia' }],
  [['Send some coins to Otto.', 'A hundred.'], { amount: 100, recipient: 'Otto' }],
  [['Send money to Zoe.', 'How much can I send?', '9 coins'], { amount: 9, recipient: 'Zoe' }],
  [['I would like to send money to Noor.', '7 coins, please.'], { amount: 7, recipient: 'Noor' }],
];

it('asks for what is missing, and at least 11 of 12 dialogs end in the right transfer', async () => {
  const graph = JSON.parse(readFileSync(repositoryPath('graphs/bank-teller.json'), 'utf8')) as {
    readonly nodes: { readonly detect: { readonly params: Record<string, unknown> } };
  };
  graph.nodes.detect.params['await_results'] = false;
  const outcomes: string[] = [];
  await using client = await TestClient.connect(server().url, 'turngraph.v1.json', 'llama-cpp');
  for (const [messages, wanted] of dialogs) {
    const agentId = await client.createAgent(graph);
    const calls: unknown[] = [];
    for (const message of messages)
      for (const { toolName, typedArgumentsJson } of (await client.sendMessage(agentId, message)).calls)
        if (toolName === 'transfer') calls.push(JSON.parse(typedArgumentsJson));
    const isRight = JSON.stringify(calls) === JSON.stringify(wanted ? [wanted] : []);
    outcomes.push(isRight ? 'right' : `${messages.join(' ')}: ${JSON.stringify(calls)}`);
    await client.request('destroyAgent', { agentId });
  }
  const wrong = outcomes.filter((outcome) => outcome !== 'right');
  console.log(`${outcomes.length - wrong.length} of ${outcomes.length} right`, wrong);
  expect(wrong.length).toBeLessThanOrEqual(1);
});
