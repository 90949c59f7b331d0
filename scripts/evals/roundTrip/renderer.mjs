import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('render.py', import.meta.url));

/** Renders chat templates in a process of Python. @param python a Python that has Jinja2. */
export function openRenderer(python) {
  const child = spawn(python, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.on('error', (error) => lines.close(error));
  child.stdin.on('error', () => undefined);
  const lines = createInterface({ input: child.stdout });
  const answers = lines[Symbol.asyncIterator]();
  return {
    /** What a template writes: `{ text }`, or `{ error }` where it refuses. @throws {Error} When Python has ended. */
    async render(template, variables) {
      child.stdin.write(`${JSON.stringify({ template, variables })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error(`${python} ${program} has ended; it needs Jinja2`);
      return JSON.parse(value);
    },
    close: () => child.stdin.end(),
  };
}
