import { createHash, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in constant time; hashing first makes the lengths equal. */
export const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
