import { describe, expect, it } from 'vitest';
import { useCleanups } from '../helpers/fakeServer.ts';
import { FakeSession, type SessionScript } from '../helpers/fakeSession.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();
useCleanups();

const answerAll: SessionScript = ({ requestId, body }, session) => {
  if (body === 'createAgent') session.send(requestId, 'createAgent', { agentId: 1 });
  else if (body === 'configureSession') session.send(requestId, 'configureSession');
  else if (body === 'sendMessage') {
    session.send(requestId, 'answerText', { agentId: 1, turnId: 1, text: 'Hel', isDelta: true });
    session.isWriting = false;
    session.send(requestId, 'answerText', { agentId: 1, turnId: 1, text: 'lo', isDelta: true });
    session.send(requestId, 'turnComplete', { agentId: 1, turnId: 1, status: 'SUCCESS' });
    session.drop();
  } else session.send(requestId, 'ack');
};

describe('a command with --url whose connection drops', () => {
  it('says so on stderr, and prints each frame of the turn once', async () => {
    const session = new FakeSession(answerAll);
    await session.listen();
    const { code, out, err } = await runCommand(['run', 'chat', '--url', session.url, 'hi']);
    const frames = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { answerText?: { text: string } });
    expect(frames.map(({ answerText }) => answerText?.text)).toEqual(['Hel', 'lo', undefined]);
    expect({ code, lines: err.trim().split('\n') }).toEqual({
      code: 0,
      lines: [
        '-- reconnecting: the connection broke off (1006)',
        '-- resumed: the server repeats 2 frames, and 0 requests were sent again',
      ],
    });
  });

  it('says that the session is lost, and answers the line with the reason', async () => {
    const session = new FakeSession(answerAll);
    await session.listen();
    session.onResume = (_, socket) => session.refuse(socket, 4, 'SESSION_NOT_RESUMABLE', 'no such session');
    const { code, err } = await runCommand(['chat', 'chat', '--url', session.url], 'hi\n');
    expect(err).toContain('-- reconnecting: the connection broke off (1006)\n');
    expect(err).toContain('-- connection lost (1006)\n');
    expect(err).toMatch(/CONNECTION_DROPPED.*no such session; the session and its agents are gone/);
    expect(code).toBe(0);
  });
});
