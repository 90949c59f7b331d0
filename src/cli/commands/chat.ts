import { createInterface, type Interface } from 'node:readline/promises';
import { Command } from 'commander';
import type { AgentHandle, TurnHandle } from '../../client/index.ts';
import { Fault } from '../../fault.ts';
import { agentFlags, withAgent, type AgentFlags } from '../withAgent.ts';

/** `turngraph chat`: a conversation in the terminal. */
export const chatCommand = (): Command =>
  agentFlags(
    new Command('chat').description('chat with a graph in the terminal; Ctrl-C cancels a turn, Ctrl-D exits'),
  ).action((graph: string, flags: AgentFlags) =>
    withAgent(graph, flags, async ({ agent, variables }) => {
      using lines = disposable(createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' }));
      // Piped input ends before its lines are answered, and a closed interface cannot show a prompt.
      let open = true;
      lines.input.on('close', () => (open = false));
      let turn: TurnHandle | undefined;
      lines.input.on('SIGINT', () => (turn ? turn.cancel() : lines.input.close()));
      lines.input.prompt();
      for await (const text of lines.input) {
        if (text.trim() !== '') {
          turn = sendLine(agent, text, variables);
          await printResult(turn);
          turn = undefined;
        }
        if (open) lines.input.prompt();
      }
    }),
  );

const disposable = (input: Interface): Disposable & { readonly input: Interface } => ({
  input,
  [Symbol.dispose]: () => input.close(),
});

// Text is written to stdout, calls and events to stderr, so that the output can be piped.
function sendLine(agent: AgentHandle, text: string, variables: Readonly<Record<string, string>>): TurnHandle {
  return agent.send(text, {
    variables,
    onText: (piece) => process.stdout.write(piece),
    onCall: ({ toolName, arguments: args }) => process.stderr.write(`-> ${toolName} ${JSON.stringify(args)}\n`),
    onEvent: ({ eventType, payload }) => process.stderr.write(`-- ${eventType} ${JSON.stringify(payload)}\n`),
  });
}

async function printResult(turn: TurnHandle): Promise<void> {
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
