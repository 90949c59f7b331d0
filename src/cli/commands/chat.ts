import { createInterface, type Interface } from 'node:readline/promises';
import { Command } from 'commander';
import type { AgentHandle, TurnHandle } from '../../client/index.ts';
import { Fault } from '../../fault.ts';
import { agentFlags, withAgent, type AgentFlags } from '../withAgent.ts';

/** `turngraph chat`: a conversation in the terminal. */
export const chatCommand = (): Command =>
  agentFlags(
    new Command('chat').description('talk to a graph in the terminal; Ctrl-C cancels a turn, Ctrl-D ends'),
  ).action((graph: string, flags: AgentFlags) =>
    withAgent(graph, flags, async ({ agent, variables }) => {
      using lines = closing(createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' }));
      // Input that is piped has ended before its lines are answered, and a closed interface takes no prompt.
      let open = true;
      lines.input.on('close', () => (open = false));
      let turn: TurnHandle | undefined;
      lines.input.on('SIGINT', () => (turn ? turn.cancel() : lines.input.close()));
      lines.input.prompt();
      for await (const text of lines.input) {
        if (text.trim() !== '') {
          turn = say(agent, text, variables);
          await heard(turn);
          turn = undefined;
        }
        if (open) lines.input.prompt();
      }
    }),
  );

const closing = (input: Interface): Disposable & { readonly input: Interface } => ({
  input,
  [Symbol.dispose]: () => input.close(),
});

// Text is data and goes to standard output; what happened beside it goes to standard error.
function say(agent: AgentHandle, text: string, variables: Readonly<Record<string, string>>): TurnHandle {
  return agent.send(text, {
    variables,
    onText: (piece) => process.stdout.write(piece),
    onCall: ({ toolName, arguments: args }) => process.stderr.write(`-> ${toolName} ${JSON.stringify(args)}\n`),
    onEvent: ({ eventType, payload }) => process.stderr.write(`-- ${eventType} ${JSON.stringify(payload)}\n`),
  });
}

async function heard(turn: TurnHandle): Promise<void> {
  try {
    const { text, status, warnings, debugInfo } = await turn.done;
    if (text !== '') process.stdout.write('\n');
    if (status === 'CANCELLED') process.stderr.write('-- cancelled\n');
    for (const warning of warnings) process.stderr.write(`-- warning: ${warning}\n`);
    if (debugInfo !== undefined) process.stderr.write(`-- ${JSON.stringify(debugInfo)}\n`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    process.stderr.write(`-- ${error.name} (${error.code}): ${error.message}\n`);
  }
}
