import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import type { AgentHandle, FinishedTurn, TurnHandle } from '../../client/index.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import type { CallAnswerer, TurnAnswers } from '../callAnswers.ts';
import { describeCall, noTools, terminalAnswerer, turnAnswers } from '../callAnswers.ts';
import { agentFlags, withAgent, type AgentFlags } from '../withAgent.ts';

export const chatCommand = (): Command =>
  agentFlags(
    new Command('chat').description('chat with a graph in the terminal; Ctrl-C cancels a turn, Ctrl-D exits'),
  ).action((graph: string, flags: AgentFlags) =>
    withAgent(graph, flags, async ({ agent, variables, results }) => {
      const input = createInterface({ input: process.stdin, output: process.stderr, prompt: '> ' });
      using _ = { [Symbol.dispose]: () => input.close() };
      // Piped input ends before its lines are answered, and a closed interface cannot show a prompt.
      let open = true;
      input.on('close', () => (open = false));
      // Piped lines are messages: a question would take the next one for its answer.
      const asks = results === undefined && process.stdin.isTTY;
      const answerer = asks ? terminalAnswerer(input) : printing(results ?? noTools);
      let turn: TurnHandle | undefined;
      input.on('SIGINT', () => (turn ? turn.cancel() : input.close()));
      input.prompt();
      for await (const text of input) {
        if (text.trim() !== '') {
          const answers = turnAnswers(agent, answerer);
          turn = sendLine(agent, text, variables, answers);
          await printResult(turn.finally(() => answers.endWait()));
          turn = undefined;
        }
        if (open) input.prompt();
      }
    }),
  );

// Text is written to stdout, calls and events to stderr, so that the output can be piped.
function sendLine(
  agent: AgentHandle,
  text: string,
  variables: Readonly<Record<string, string>>,
  answers: TurnAnswers,
): TurnHandle {
  return agent.send(text, {
    variables,
    onText: (piece) => {
      answers.endWait();
      process.stdout.write(piece);
    },
    onField: (name, value) => void process.stderr.write(`-> ${name}: ${JSON.stringify(value)}\n`),
    onCall: (call) => {
      process.stderr.write(`-> ${describeCall(call)}\n`);
      answers.add(call);
    },
    onEvent: ({ eventType, payload }) => process.stderr.write(`-- ${eventType} ${JSON.stringify(payload)}\n`),
  });
}

/** Prints each result, which the user has not typed. */
const printing = (answerer: CallAnswerer): CallAnswerer => ({
  ...answerer,
  answer: async (call, signal) => {
    const answer = await answerer.answer(call, signal);
    const { ok, content } = answer.result;
    process.stderr.write(`<- ${ok ? '' : 'failed: '}${content}\n`);
    return answer;
  },
});

async function printResult(done: Promise<FinishedTurn>): Promise<void> {
  try {
    const { text, status, warnings, debugInfo } = await done;
    if (text !== '') process.stdout.write('\n');
    if (status === 'CANCELLED') process.stderr.write('-- cancelled\n');
    for (const warning of warnings) process.stderr.write(`-- warning: ${warning}\n`);
    if (debugInfo !== undefined) process.stderr.write(`-- ${JSON.stringify(debugInfo)}\n`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    process.stderr.write(`-- ${describeFault(error)}\n`);
  }
}
