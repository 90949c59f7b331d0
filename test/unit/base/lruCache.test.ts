import { describe, expect, it } from 'vitest';
import { LruCache } from '../../../src/base/lruCache.ts';

describe('an LRU cache', () => {
  it('drops the least recently used entry when there are too many', () => {
    const cache = new LruCache<number>({ maxEntries: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    expect(cache.get('a')).toBe(1);
    cache.set('c', 3);
    expect(['a', 'b', 'c'].map((key) => cache.get(key))).toEqual([1, undefined, 3]);
  });

  it('counts the length of each key once', () => {
    const cache = new LruCache<number>({ maxKeyLength: 6 });
    cache.set('aaa', 1);
    cache.set('aaa', 2);
    cache.set('bbb', 3);
    expect(cache.get('aaa')).toBe(2);
    cache.set('c', 4);
    expect(['aaa', 'bbb', 'c'].map((key) => cache.get(key))).toEqual([2, undefined, 4]);
    cache.set('a key that is too long', 5);
    expect(cache.get('a key that is too long')).toBeUndefined();
  });
});
