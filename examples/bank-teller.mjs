// Money moves only after a confirmation, with the graph `bank-teller`. Start a server (npx turngraph serve), then:
//   node examples/bank-teller.mjs [ws://127.0.0.1:9100]
import { createInterface } from 'node:readline/promises';
import { connect, executor } from 'turngraph/client';

let balance = 500;
const terminal = createInterface({ input: process.stdin, output: process.stdout });
const tools = executor(
  {
    show_balance: { run: () => `${balance} coins` },
    transfer: {
      run({ amount, recipient }) {
        if (amount > balance) throw new Error(`there are only ${balance} coins`);
        balance -= amount;
        return `${amount} coins to ${recipient}`;
      },
    },
  },
  {
    // Asked for each consequential call; the call is blocked unless it returns true.
    confirm: async ({ arguments: { amount, recipient } }) =>
      (await terminal.question(`  Send ${amount} coins to ${recipient}? (y/n) `)) === 'y',
  },
);

const client = await connect(process.argv[2] ?? 'ws://127.0.0.1:9100');
const agent = await client.createAgent({ graphName: 'bank-teller' });
for (const message of ['Send money to Ada.', 'Send 20 coins to Ada.', 'Show my balance, please.']) {
  console.log(`> ${message}`);
  console.log(`< ${(await agent.send(message, { tools })).text}`);
}
terminal.close();
await client.close();
