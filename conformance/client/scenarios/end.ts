import { expectThat, shown } from '../../expect.ts';
import type { ClientCheck, Stage } from '../stage.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';

/** Waits for a close frame of the client and for the end of the program. */
async function expectClosed(stage: Stage): Promise<void> {
  const code = await stage.inbox.take(
    (happening) => (happening.kind === 'closed' ? happening.code : undefined),
    'a close frame',
    'End of a session',
  );
  expectThat([1000, 1001, 1005].includes(code), 'a close frame with code 1000', `the end with ${code}`, 'Close codes');
  const exit = await stage.exited();
  expectThat(exit.code === 0, 'exit code 0', `${exit.code} ${exit.stderr}`);
}

/** Checks of how a client leaves. */
export const endChecks: readonly ClientCheck[] = [
  {
    name: 'close sends a close frame, and the program exits',
    section: 'End of a session',
    endsProgram: true,
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('Goodbye.').end().complete();
      stage.inbox.mayClose = true;
      const id = stage.command('close');
      await stage.event(id, 'closed');
      await expectClosed(stage);
      const rest = stage.inbox.takeRest();
      expectThat(rest.length === 0, 'nothing more', shown(rest));
    },
  },
  {
    name: 'the end of the standard input closes the connection and ends the program',
    section: 'End of a session',
    endsProgram: true,
    async run(stage) {
      await stage.connect();
      await stage.createAgent();
      stage.inbox.mayClose = true;
      stage.run.endInput();
      await expectClosed(stage);
    },
  },
];
