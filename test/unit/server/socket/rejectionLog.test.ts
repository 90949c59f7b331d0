import { describe, expect, it, vi } from 'vitest';
import type { Log } from '../../../../src/base/log.ts';
import { createRejectionLog } from '../../../../src/server/socket/rejectionLog.ts';

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
