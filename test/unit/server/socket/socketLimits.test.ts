import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { anonymousSockets } from '../../../../src/server/socket/socketLimits.ts';

function create(limit: number) {
  const closed: Socket[] = [];
  const anonymous = anonymousSockets(limit, (socket) => closed.push(socket));
  const open = (): Socket => {
    const socket = new Socket();
    anonymous.add(socket);
    return socket;
  };
  return { anonymous, open, closed };
}

describe('sockets that have not shown the token', () => {
  it('are closed above the limit, the oldest first', () => {
    const { open, closed } = create(2);
    const [first, second, third, fourth] = [open(), open(), open(), open()];
    expect(closed).toEqual([first, second]);
    expect([first, second, third, fourth].map(({ destroyed }) => destroyed)).toEqual([true, true, false, false]);
  });

  it('do not count once they have shown it or are closed', async () => {
    const { anonymous, open, closed } = create(1);
    anonymous.remove(open());
    const second = open();
    second.destroy();
    await new Promise((resolve) => second.once('close', resolve));
    open();
    expect(closed).toEqual([]);
  });
});
