// The peer of the benchmark: a llama-server with its defaults, and conversations with it as its users have them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** Starts the binary with a model; `converse` begins a conversation, `close` ends the process. */
export async function startPeer(binary, file) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(binary, ['--model', file, '--host', '127.0.0.1', '--port', String(port)], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const failed = exited.then(([code]) => {
    throw new Error(`${binary} ended with ${code}`);
  });
  const close = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  try {
    await Promise.race([failed, untilHealthy(url)]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  failed.catch(() => {});
  const converse = async () => {
    const messages = [];
    return {
      async send(content, maxTokens) {
        messages.push({ role: 'user', content });
        const { text, ...times } = await complete(url, messages, maxTokens);
        messages.push({ role: 'assistant', content: text });
        return times;
      },
    };
  };
  return { pid: child.pid, converse, close };
}

async function complete(url, messages, maxTokens) {
  const start = performance.now();
  const times = { first: 0, last: 0, end: 0, generated: 0 };
  let text = '';
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages,
      max_tokens: maxTokens,
      temperature: 0,
      stream: true,
      stream_options: { include_usage: true },
    }),
  });
  if (!response.ok) throw new Error(`llama-server answers ${response.status}: ${await response.text()}`);
  let pending = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop();
    for (const line of lines.filter((one) => one.startsWith('data: {'))) {
      const { choices, usage } = JSON.parse(line.slice('data: '.length));
      times.generated = usage?.completion_tokens ?? times.generated;
      const piece = choices[0]?.delta?.content ?? '';
      if (piece === '') continue;
      text += piece;
      times.last = performance.now() - start;
      times.first ||= times.last;
    }
  }
  return { ...times, end: performance.now() - start, text };
}

async function untilHealthy(url) {
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    if (response?.ok) return;
    await wait(50);
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
