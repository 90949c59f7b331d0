import { Command, CommanderError } from 'commander';
import { Fault, describeError } from '../fault.ts';
import { version } from '../version.ts';
import { chatCommand } from './commands/chat.ts';
import { checkCommand } from './commands/check.ts';
import { doctorCommand } from './commands/doctor.ts';
import { drawCommand } from './commands/draw.ts';
import { modelsCommand } from './commands/models.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { toolsCommand } from './commands/tools.ts';
import { UsageError } from './options.ts';

const usageExitCode = 2;

/** The command line program: parses the arguments of this process, runs the command, and sets the exit code. */
export async function runProgram(): Promise<void> {
  const program = new Command('turngraph')
    .description('Graphs of small local language models for games and desktop apps, over one WebSocket.')
    .version(version);
  for (const command of [
    serveCommand(),
    chatCommand(),
    runCommand(),
    checkCommand(),
    drawCommand(),
    modelsCommand(),
    doctorCommand(),
    toolsCommand(),
  ]) {
    program.addCommand(command);
  }

  throwOnUsageError(program);

  // A reader that closes the pipe early, such as `head`, is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

// Commands throw instead of ending the process, so that the exit code is chosen in one place.
function throwOnUsageError(command: Command): void {
  command.exitOverride();
  command.commands.forEach(throwOnUsageError);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
  if (error instanceof UsageError) {
    process.stderr.write(`error: ${error.message}\n`);
    return usageExitCode;
  }
  if (error instanceof Fault) process.stderr.write(`error: ${error.name} (${error.code}): ${error.message}\n`);
  else process.stderr.write(`error: ${describeError(error)}\n`);
  return 1;
}
