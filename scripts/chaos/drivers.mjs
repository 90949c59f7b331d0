// Clients that a case can use alike: that of TypeScript in this process, that of Python in a child process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connect } from 'turngraph/client';

/**
 * A client that sends any request.
 * @typedef {object} Driver
 * @property {(name: string, fields?: object, onText?: (text: string) => void) => Promise<Record<string, any>>} request
 *   Resolves with the final answer, and `text`: all text of a turn.
 * @property {() => Promise<void>} close
 */

/** @typedef {{ url: string, codec: 'proto' | 'json', python?: string, wireFolder?: string, recorder: import('./sessionRecorder.mjs').SessionRecorder }} DriverOptions */

/** Connects the TypeScript client. @returns {Promise<Driver>} */
async function openTypeScript(/** @type {DriverOptions} */ { url, codec, recorder }) {
  const client = await connect(url, { codec, WebSocket: recorder.webSocketClass() });
  return {
    async request(name, fields = {}, onText = () => {}) {
      let text = '';
      const onFrame = (frame) => {
        if (frame.body !== 'answerText') return;
        text += frame.answerText.text;
        onText(text);
      };
      return { ...(await client.request(/** @type {any} */ (name), fields, { onFrame })), text };
    },
    close: () => client.close(),
  };
}

/** Connects the Python client. @returns {Promise<Driver>} */
async function openPython(/** @type {DriverOptions} */ options) {
  const { url, codec, recorder, python = 'python3', wireFolder = '' } = options;
  const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
  const PYTHONPATH = [fileOf('../../examples/python'), wireFolder].join(':');
  const child = spawn(python, [fileOf('driver.py'), url, codec], {
    env: { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const pending = new Map();
  const connections = [];
  let lastId = 0;
  const failAll = (message) => pending.forEach(({ reject }) => reject(new Error(message)));
  exited.then(([code]) => failAll(`the Python client ended with ${code}`));
  const ready = new Promise((resolve, reject) => pending.set(0, { resolve, reject }));
  const receive = {
    connected: () => connections.push(recorder.connection(`turngraph.v1.${codec}`)),
    sent: ({ connection, data }) => connections[connection].sent(Buffer.from(data, 'base64')),
    received: ({ connection, data }) => connections[connection].received(Buffer.from(data, 'base64')),
    text: ({ id, text }) => pending.get(id).onText(text),
    answer: ({ id, answer }) => pending.get(id).resolve(answer),
    error: ({ id, error }) => pending.get(id).reject(Object.assign(new Error(error.message), error)),
  };
  createInterface(child.stdout).on('line', (line) => {
    const { event, ...fields } = JSON.parse(line);
    receive[event](fields);
  });
  await ready;
  return {
    request(name, fields = {}, onText = () => {}) {
      const id = ++lastId;
      child.stdin.write(`${JSON.stringify({ id, name, fields })}\n`);
      return new Promise((resolve, reject) => pending.set(id, { resolve, reject, onText }));
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}

export const drivers = { typescript: openTypeScript, python: openPython };
