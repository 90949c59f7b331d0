import { describe, expect, it } from 'vitest';
import { findPathProblem } from '../../../src/base/filesystem.ts';

describe('a relative path', () => {
  it.each([
    'model.gguf',
    'Q4_K_M/model-00001-of-00002.gguf',
    'a b.gguf',
    '.hidden',
    'console.gguf',
    'com.gguf',
    'COM10.gguf',
    'nullable',
    'Modèle-日本.gguf',
  ])('names the same file on every system: %s', (path) => expect(findPathProblem(path)).toBeUndefined());

  it.each([
    ['', 'empty part'],
    ['/x.gguf', 'empty part'],
    ['a//x.gguf', 'empty part'],
    ['a/', 'empty part'],
    ['../x.gguf', '".."'],
    ['a/./x.gguf', '"."'],
    ['CON', 'a device'],
    ['con', 'a device'],
    ['NUL.gguf', 'a device'],
    ['nul.tar.gz', 'a device'],
    ['aux .gguf', 'a device'],
    ['a/PRN/x.gguf', 'a device'],
    ['COM1', 'a device'],
    ['lpt9.gguf', 'a device'],
    ['COM².gguf', 'a device'],
    ['CONIN$', 'a device'],
    ['x.gguf.', 'dot or space'],
    ['x.gguf ', 'dot or space'],
    ['a./x.gguf', 'dot or space'],
    ['.. /x.gguf', 'dot or space'],
    ['...', 'dot or space'],
    ['x.gguf:stream', '":"'],
    ['a\\x.gguf', '"\\\\"'],
    ['a\u0007.gguf', '"\\u0007"'],
    ['a\u0085.gguf', 'in it, which no file name'],
    ['a*.gguf', '"*"'],
  ])('does not: %j', (path, reason) => expect(findPathProblem(path)).toContain(reason));
});
