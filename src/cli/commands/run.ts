import { Command } from 'commander';
import { parseToolCall } from '../../client/toolCall.ts';
import type { ServerFrame } from '../../protocol/frames.gen.ts';
import { noTools, turnAnswers } from '../callAnswers.ts';
import { serverCodecs } from '../../protocol/codec/codec.ts';
import { printLine } from '../output/terminalText.ts';
import { agentFlags, withAgent, type AgentFlags } from '../withAgent.ts';

export const runCommand = (): Command =>
  agentFlags(new Command('run').description('send messages through a graph and print the frames as JSON lines'))
    .argument('<message...>', 'one turn each')
    .action((graph: string, messages: string[], flags: AgentFlags) =>
      withAgent(graph, flags, async ({ client, agent, variables, results = noTools }) => {
        for (const text of messages) {
          const answers = turnAnswers(agent, results);
          const onFrame = (frame: ServerFrame): void => {
            printLine(String(serverCodecs['turngraph.v1.json'].encode(frame)));
            if (frame.body === 'toolCallNotification') answers.add(parseToolCall(frame.toolCallNotification));
          };
          const done = await client.request('sendMessage', { agentId: agent.id, text, variables }, { onFrame });
          if (done.status === 'ERROR') process.exitCode = 1;
        }
      }),
    );
