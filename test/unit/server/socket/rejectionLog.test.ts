import { describe, expect, it, vi } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import type { Log } from '../../../../src/base/log.ts';
import { createRejectionLog, createRequestLog } from '../../../../src/server/socket/rejectionLog.ts';

describe('the log of rejections', () => {
  it('leaves lines out above its rate, and then logs how many', () => {
    const info = vi.fn<(fields: object, message: string) => void>();
    let isAllowed = true;
    const logRejection = createRejectionLog({ info } as unknown as Log, () => isAllowed);
    logRejection({ status: 403 }, 'handshake rejected');
    isAllowed = false;
    for (let count = 0; count < 7; count++) logRejection({ status: 401 }, 'handshake rejected');
    isAllowed = true;
    logRejection({ code: 5001 }, 'frame rejected');
    logRejection({ code: 5001 }, 'frame rejected');
    expect(info.mock.calls).toEqual([
      [{ status: 403 }, 'handshake rejected'],
      [{ code: 5001, suppressed: 7 }, 'frame rejected'],
      [{ code: 5001 }, 'frame rejected'],
    ]);
  });
});

function record() {
  const debug = vi.fn<(fields: object, message: string) => void>();
  const logRejection = vi.fn<(fields: object, message: string) => void>();
  return { debug, logRejection, requestFailed: createRequestLog('s', { debug } as unknown as Log, logRejection) };
}

describe('the log of refused requests', () => {
  it('has the code, and the message at debug only', () => {
    const { debug, logRejection, requestFailed } = record();
    requestFailed(7, new Fault('INVALID_AGENT_ID', 'there is no agent 9'));
    const fields = { session: 's', requestId: 7, code: 3001, error: 'INVALID_AGENT_ID' };
    expect(logRejection.mock.calls).toEqual([[fields, 'request rejected']]);
    expect(debug.mock.calls).toEqual([[{ ...fields, reason: 'there is no agent 9' }, 'request refused']]);
  });

  it('names the places of the first faults of a graph', () => {
    const { logRejection, requestFailed } = record();
    const detail = JSON.stringify(['/a', '/b', '/c', '/d'].map((pointer) => ({ pointer, message: 'secret' })));
    requestFailed(7, new Fault('GRAPH_COMPILATION_FAILED', 'secret', { detail }));
    expect(logRejection.mock.calls).toMatchObject([[{ code: 3003, places: '/a /b /c' }, 'request rejected']]);
  });

  it.each(['an explanation of an extension', '[null]'])('names no places of the detail %s', (detail) => {
    const { logRejection, requestFailed } = record();
    requestFailed(7, new Fault('INFERENCE_FAILED', 'secret', { detail }));
    expect(logRejection.mock.calls).toEqual([
      [expect.not.objectContaining({ places: expect.anything() }), 'request rejected'],
    ]);
  });

  it('calls a frame that cannot be read a frame', () => {
    const { logRejection, requestFailed } = record();
    requestFailed(0, new Fault('MALFORMED_MESSAGE', 'the frame is not JSON'));
    expect(logRejection.mock.calls).toMatchObject([[{ code: 5001 }, 'frame rejected']]);
  });
});
