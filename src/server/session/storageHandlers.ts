import { createYielder } from '../../base/eventLoop.ts';
import { entryForClient } from '../../graph/storage/knowledge/entries.ts';
import type { KnowledgeEntry } from '../../graph/storage/knowledge/knowledge.ts';
import { Fault } from '../../protocol/fault.ts';
import { maxEntriesBytes } from '../../protocol/frameSize.ts';
import type { StorageEntry } from '../../protocol/frames.gen.ts';
import { checkSize, checkValues } from './requestChecks.ts';
import { searchStorage } from './searchStorage.ts';
import { acknowledged, type Handlers } from './session.ts';

/** Request handlers for string storages: create, destroy, change, export, search. */
export const storageHandlers = {
  async createStringStorage(session, request, reply) {
    for (const json of request.metadataJson) checkValues('createStringStorage.metadataJson', json);
    checkEntries('createStringStorage.entries', request.entries);
    const { list } = await session.createStorage(request);
    reply('createStringStorage', { entries: list.length });
  },

  destroyStringStorage: acknowledged(({ storages }, { name }) => storages.destroy(name)),

  async addKnowledge({ storages }, { storage, entries }, reply) {
    const place = 'addKnowledge.entries';
    checkEntries(place, entries);
    reply('addKnowledge', await storages.add(storage, entries, place));
  },

  removeKnowledge: acknowledged(({ storages }, { storage, ids }) =>
    storages.remove(storage, ids, 'removeKnowledge.ids'),
  ),

  async exportStorage({ storages }, { storage }, reply) {
    const parts = await splitEntries(await storages.export(storage), storage);
    const yieldToOthers = createYielder();
    for (const [index, entries] of parts.entries()) {
      reply('exportStorage', { part: index + 1, of: parts.length, entries });
      await yieldToOthers();
    }
  },

  searchStorage(session, request, reply) {
    session.assertOpen();
    const { maxMessageBytes } = session.context.limits;
    checkSize('searchStorage.query', request.query, maxMessageBytes);
    checkSize('searchStorage.filterJson', request.filterJson, maxMessageBytes);
    checkValues('searchStorage.filterJson', request.filterJson);
    return { background: searchStorage(session, request, reply) };
  },
} as const satisfies Partial<Handlers>;

function checkEntries(field: string, entries: readonly StorageEntry[]): void {
  for (const [index, { metadataJson }] of entries.entries())
    checkValues(`${field}[${index}].metadataJson`, metadataJson);
}

/** Entries in parts that each fit in a frame; one part if there are none. */
async function splitEntries(
  entries: readonly KnowledgeEntry[],
  name: string,
): Promise<readonly (readonly StorageEntry[])[]> {
  const yieldToOthers = createYielder();
  let part: StorageEntry[] = [];
  const parts = [part];
  let sum = 0;
  for (const each of entries) {
    const cannot = (why: string): Fault =>
      new Fault('LIMIT_EXCEEDED', `the entry "${each.id}" of "${name}" cannot be exported: ${why}`);
    if (each.rules || each.keysOnly)
      throw cannot(
        'it is of a lorebook, whose rules an export does not have; keep that file, and add to another storage',
      );
    const { entry, bytes } = entryForClient(each);
    if (bytes > maxEntriesBytes) throw cannot(`it has ${bytes} bytes, and ${maxEntriesBytes} are allowed`);
    if (sum + bytes > maxEntriesBytes) {
      parts.push((part = []));
      sum = 0;
    }
    part.push(entry);
    sum += bytes + 1;
    await yieldToOthers();
  }
  return parts;
}
