import { describe, expect, it } from 'vitest';
import { EngineCrashedFault } from '../../../../src/inference/process/engineProcess.ts';
import { toLoadFault } from '../../../../src/inference/process/supervisor.ts';
import { UnreceivedRequest } from '../../../../src/inference/process/peer.ts';
import { Fault } from '../../../../src/protocol/fault.ts';

describe('the error of a first load', () => {
  const crash = new EngineCrashedFault({
    reason: 'crash',
    description: 'ended with SIGABRT: GGML_ASSERT(n > 0; no tensors) failed',
  });

  it.each([
    ['had received the load', crash],
    ['had not received the load', new UnreceivedRequest(crash)],
  ])('says in full how a process ended that %s', (_, error) => {
    const fault = toLoadFault('lamp.gguf', error);
    expect(fault).toMatchObject({ name: 'MODEL_LOAD_FAILED', cause: error });
    expect((fault as Fault).message).toMatch(
      /^lamp\.gguf cannot be loaded: the engine process ended with SIGABRT: GGML_ASSERT\(n > 0; no tensors\) failed: the file/,
    );
  });

  it('is unchanged when no process has crashed', () => {
    const error = new Fault('MODEL_LOAD_FAILED', 'lamp.gguf is no GGUF file');
    expect(toLoadFault('lamp.gguf', error)).toBe(error);
  });
});
