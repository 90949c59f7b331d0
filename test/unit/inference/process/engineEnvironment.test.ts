import { describe, expect, it } from 'vitest';
import { engineEnvironment } from '../../../../src/inference/process/engineProcess.ts';

describe('The environment of an engine process', () => {
  it('is that of the server, with one libuv worker', () => {
    expect(engineEnvironment({ PATH: '/bin' }, undefined)).toEqual({
      PATH: '/bin',
      UV_THREADPOOL_SIZE: '1',
      ELECTRON_RUN_AS_NODE: '1',
    });
  });

  it('has as many libuv workers as the user has set', () => {
    expect(engineEnvironment({ UV_THREADPOOL_SIZE: '4' }, undefined)).toHaveProperty('UV_THREADPOOL_SIZE', '4');
  });

  it('shows one card to each backend that can have several', () => {
    expect(engineEnvironment({ CUDA_VISIBLE_DEVICES: '0,1' }, 1)).toMatchObject({
      CUDA_VISIBLE_DEVICES: '1',
      GGML_VK_VISIBLE_DEVICES: '1',
    });
  });

  it('has the options of Node without those of a debugger', () => {
    expect(engineEnvironment({ NODE_OPTIONS: '--inspect-brk=0 --require a.cjs' }, undefined)).toHaveProperty(
      'NODE_OPTIONS',
      '--require a.cjs',
    );
  });
});
