import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CaseSession, type CaseSessionOptions, openCaseSession } from '../../src/cli/graphTests/caseSession.ts';
import { testFile, type FileResult, type TestOptions } from '../../src/cli/graphTests/testFile.ts';
import { readServerOptions } from '../../src/server/config.ts';
import { repositoryPath } from './server.ts';

/** Opens a session of cases as the commands do, with the models of the repository in this process. */
export function openSession(options: Partial<CaseSessionOptions> = {}): Promise<CaseSession> {
  const reading = readServerOptions({
    port: 0,
    graphs: repositoryPath('graphs'),
    catalogue: repositoryPath('models.json'),
    logLevel: 'silent',
    slots: 1,
    threads: 1,
    gpu: 'off',
    engineProcess: 'in',
    cache: join(tmpdir(), 'turngraph-tests'),
    watchModels: 'off',
  });
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return openCaseSession({ settings: reading.value, model: '', usesModels: false, ...options });
}

/** Runs a cases file once on the mock engine, unless told otherwise. */
export const runFile = (path: string, session: CaseSession, options: Partial<TestOptions> = {}): Promise<FileResult> =>
  testFile(path, session, {
    usesModels: false,
    runs: 1,
    minPass: 1,
    mockScript: '',
    signal: new AbortController().signal,
    ...options,
  });

/** A folder for the files of a test. */
export class CasesFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<CasesFolder> {
    return new CasesFolder(await mkdtemp(join(tmpdir(), 'turngraph-')));
  }

  /** Writes a file; a value that is no text is written as JSON. Returns its path. */
  async write(name: string, content: unknown): Promise<string> {
    const path = join(this.path, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.path, { recursive: true });
  }
}
