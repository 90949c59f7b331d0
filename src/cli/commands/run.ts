import { Command } from 'commander';
import type { ServerFrame } from '../../frames.gen.ts';
import { serverCodecs } from '../../wire/codec.ts';
import { agentFlags, withAgent, type AgentFlags } from '../withAgent.ts';

/** `turngraph run`: one turn per message; prints the frames as JSON lines to stdout. */
export const runCommand = (): Command =>
  agentFlags(new Command('run').description('send messages through a graph and print the frames as JSON lines'))
    .argument('<message...>', 'one turn each')
    .action((graph: string, messages: string[], flags: AgentFlags) =>
      withAgent(graph, flags, async ({ client, agent, variables }) => {
        for (const text of messages) {
          const done = await client.request('sendMessage', { agentId: agent.id, text, variables }, { onFrame: print });
          if (done.status === 'ERROR') process.exitCode = 1;
        }
      }),
    );

const print = (frame: ServerFrame): void => {
  process.stdout.write(`${String(serverCodecs['turngraph.v1.json'].encode(frame))}\n`);
};
