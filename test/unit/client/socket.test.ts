import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { terminateWhenSilent } from '../../../src/client/socket.ts';

class FakeSocket extends EventEmitter {
  terminations = 0;
  terminate(): void {
    this.terminations++;
    this.emit('close');
  }
}

describe('a socket that is terminated when it is silent', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('lives as long as pings or messages arrive', () => {
    const socket = new FakeSocket();
    terminateWhenSilent(socket);
    for (const event of ['ping', 'ping', 'message', 'ping']) {
      vi.advanceTimersByTime(70_000);
      socket.emit(event);
    }
    expect(socket.terminations).toBe(0);
  });

  it('is terminated once after 75 to 90 s, and leaves no timer behind', () => {
    const socket = new FakeSocket();
    terminateWhenSilent(socket);
    vi.advanceTimersByTime(30_000);
    socket.emit('ping');
    vi.advanceTimersByTime(74_000);
    expect(socket.terminations).toBe(0);
    vi.advanceTimersByTime(500_000);
    expect([socket.terminations, vi.getTimerCount()]).toEqual([1, 0]);
  });

  it('is terminated by a server that pings without a pause', () => {
    const socket = new FakeSocket();
    terminateWhenSilent(socket);
    for (let pings = 0; pings < 2000 && socket.terminations === 0; pings++) socket.emit('ping');
    expect(socket.terminations).toBe(1);
  });

  it('leaves no timer behind when it is closed', () => {
    const socket = new FakeSocket();
    terminateWhenSilent(socket);
    socket.emit('close');
    expect(vi.getTimerCount()).toBe(0);
  });
});
