import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { repositoryPath } from '../helpers/server.ts';

const keys = { 'ctrl-c': '\x03', 'ctrl-d': '\x04' } as const;

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A command of the built CLI in a terminal: `script` of util-linux gives it one. */
export class Terminal implements AsyncDisposable {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #closed: Promise<number | null>;
  #isClosed = false;
  #wake: () => void = () => {};
  // Where the next wait begins.
  #position = 0;
  /** All that the terminal has shown. */
  output = '';

  constructor(args: readonly string[]) {
    const words = [process.execPath, repositoryPath('dist/cli/turngraph.js'), ...args].map(quote);
    // Without `exec` the exit code is that of a shell in between: dash ends with 130 on Ctrl-C, whatever the command does.
    const command = `exec ${words.join(' ')}`;
    const env = { ...process.env, NO_COLOR: '1', TERM: 'dumb' };
    this.#process = spawn('script', ['-qec', command, '/dev/null'], { cwd: repositoryPath('.'), env });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      this.#wake();
    });
    this.#closed = new Promise((resolve) => {
      this.#process.on('close', (code) => {
        this.#isClosed = true;
        this.#wake();
        resolve(code);
      });
    });
  }

  /** Waits until the terminal shows a text, after the last one that was waited for. */
  async waitFor(text: string): Promise<void> {
    for (;;) {
      const start = this.output.indexOf(text, this.#position);
      if (start >= 0) {
        this.#position = start + text.length;
        return;
      }
      if (this.#isClosed) throw new Error(`the command has ended without ${JSON.stringify(text)}:\n${this.output}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Types a line when the terminal shows a text. */
  async sendAfter(text: string, line: string): Promise<void> {
    await this.waitFor(text);
    this.#process.stdin.write(`${line}\n`);
  }

  sendKey(key: keyof typeof keys): void {
    this.#process.stdin.write(keys[key]);
  }

  exitCode(): Promise<number | null> {
    return this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill();
    await this.#closed;
  }
}
