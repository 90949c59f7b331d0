import { Command, CommanderError } from 'commander';
import { describeError, describeFault, Fault } from '../protocol/fault.ts';
import { version } from '../base/packageFiles.ts';
import { UsageError } from './options.ts';

const usageExitCode = 2;

/** The commands by name, in the order of the help. Imported on demand: each loads other parts of the program. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  new: async () => (await import('./commands/new.ts')).newCommand(),
  serve: async () => (await import('./commands/serve.ts')).serveCommand(),
  chat: async () => (await import('./commands/chat.ts')).chatCommand(),
  run: async () => (await import('./commands/run.ts')).runCommand(),
  check: async () => (await import('./commands/check.ts')).checkCommand(),
  audit: async () => (await import('./commands/audit.ts')).auditCommand(),
  test: async () => (await import('./commands/test.ts')).testCommand(),
  record: async () => (await import('./commands/record.ts')).recordCommand(),
  draw: async () => (await import('./commands/draw.ts')).drawCommand(),
  warm: async () => (await import('./commands/warm.ts')).warmCommand(),
  models: async () => (await import('./commands/models.ts')).modelsCommand(),
  bundle: async () => (await import('./commands/bundle.ts')).bundleCommand(),
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand(),
  conformance: async () => (await import('./commands/conformance.ts')).conformanceCommand(),
  search: async () => (await import('./commands/search.ts')).searchCommand(),
  tools: async () => (await import('./commands/tools.ts')).toolsCommand(),
};

/** The command that the arguments name; none for the version; all for help, and to suggest one for a misspelt name. */
export async function loadCommands(name: string | undefined): Promise<readonly Command[]> {
  if (name === '--version' || name === '-V') return [];
  const load = name === undefined ? undefined : new Map(Object.entries(commands)).get(name);
  return load ? [await load()] : Promise.all(Object.values(commands).map((each) => each()));
}

/** The command line program: parses the arguments of this process, runs the command, and sets the exit code. */
export async function runProgram(): Promise<void> {
  const program = new Command('turngraph')
    .description('Graphs of small local language models for games and desktop apps, over one WebSocket.')
    .version(version);
  for (const command of await loadCommands(process.argv[2])) program.addCommand(command);

  throwOnUsageError(program);

  // A reader that closes the pipe early, such as `head`, is no error.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

  try {
    // commander guesses that a packaged Electron app has no script among its arguments: this program always is one.
    await program.parseAsync(process.argv, { from: 'node' });
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
  process.stderr.write(`error: ${error instanceof Fault ? describeFault(error) : describeError(error)}\n`);
  return error instanceof UsageError ? usageExitCode : 1;
}
