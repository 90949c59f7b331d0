import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';

/** How a client program ended. */
export interface ProgramExit {
  /** The exit code; null when a signal ended it. */
  readonly code: number | null;
  /** The end of what it wrote to standard error, as one line. */
  readonly stderr: string;
  /** Why the kit has ended it; absent: it did not. */
  readonly flood?: string;
}

/** What a client program is started with. */
export interface ProgramOptions {
  readonly command: string;
  readonly url: string;
  readonly codec: Subprotocol;
  readonly onLine: (line: string) => void;
  readonly onExit: (exit: ProgramExit) => void;
}

const maxStderrCharacters = 2000;
// A child that the program has left behind may hold its output open.
const closeTimeoutMs = 1000;
// The end of the program's connection comes through a socket, and may be seen after that of the process.
const settleMs = 50;
const isWindows = process.platform === 'win32';

/** A running client program, in a process group of its own. */
export class ClientProgram implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #stderr = '';
  #flood: string | undefined;
  #hasExited = false;

  constructor({ command, url, codec, onLine, onExit }: ProgramOptions) {
    const env = { ...process.env, TURNGRAPH_URL: url, TURNGRAPH_CODEC: codec };
    const child = spawn(command, { shell: true, detached: !isWindows, env, stdio: 'pipe' });
    this.#child = child;
    const decoder = new StringDecoder('utf8');
    child.stderr.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + decoder.write(data)).slice(-maxStderrCharacters);
    });
    // A program that has exited does not read the rest.
    child.stdin.on('error', () => {});
    const output = new OutputLines(onLine);
    child.stdout.on('data', (data: Buffer) => {
      if (this.#flood !== undefined) return;
      this.#flood = output.push(data);
      if (this.#flood !== undefined) this.#killGroup();
    });
    child.stdout.on('end', () => output.end());
    this.#exited = new Promise((resolve) => {
      const end = (code: number | null): void => {
        if (this.#hasExited) return;
        // What it has left behind must not outlive it, nor keep the kit waiting for its output.
        this.#killGroup();
        this.#hasExited = true;
        for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
        onExit({ code, stderr: this.stderr, ...(this.#flood !== undefined && { flood: this.#flood }) });
        resolve();
      };
      child.on('error', (error) => {
        this.#stderr = error.message;
        end(null);
      });
      child.on('exit', (code) => setTimeout(end, closeTimeoutMs, code));
      child.on('close', (code) => setTimeout(end, settleMs, code));
    });
    process.once('exit', this.#killGroup);
  }

  /** The end of what it has written to standard error, as one line. */
  get stderr(): string {
    return this.#stderr.trim().replaceAll(/\s+/g, (space) => (space.includes('\n') ? ' | ' : space));
  }

  /** Writes a command. */
  write(command: object): void {
    // The line separators of Unicode end a line for some readers: readline in Node 24, splitlines in Python.
    const line = JSON.stringify(command).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Ends the standard input of the program. */
  endInput(): void {
    this.#child.stdin?.end();
  }

  /** Kills the program, if it runs, with all that it has started. */
  async [Symbol.asyncDispose](): Promise<void> {
    process.removeListener('exit', this.#killGroup);
    this.#killGroup();
    await this.#exited;
  }

  readonly #killGroup = (): void => {
    const { pid } = this.#child;
    if (pid === undefined || this.#hasExited) return;
    try {
      if (isWindows) execFileSync('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' });
      else process.kill(-pid, 'SIGKILL');
    } catch {
      // It has exited by itself meanwhile.
    }
  };
}

// More than any check asks for: the longest text of one has a few megabytes.
const maxLineCharacters = 16 * 1024 * 1024;
const maxLines = 100_000;

/** Splits the output of a program into lines, and stops where it floods the reader. */
class OutputLines {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #pieces: string[] = [];
  #length = 0;
  #lines = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Takes a piece of the output. Returns why no more of it should be read; undefined: go on. */
  push(data: Uint8Array): string | undefined {
    const [first = '', ...others] = this.#decoder.decode(data, { stream: true }).split('\n');
    this.#add(first);
    for (const piece of others) {
      this.#endLine();
      this.#add(piece);
      if (this.#lines > maxLines) return `more than ${maxLines} lines`;
    }
    return this.#length > maxLineCharacters ? `a line of more than ${maxLineCharacters} characters` : undefined;
  }

  /** The output has ended: the last line may have no end. */
  end(): void {
    if (this.#length > 0) this.#endLine();
  }

  #add(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  #endLine(): void {
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    this.#lines++;
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }
}
