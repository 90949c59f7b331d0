/** A value in the metadata of an entry. */
export type MetadataValue = string | number | boolean | readonly string[];

/** One entry of a KNOWLEDGE storage. */
export interface KnowledgeEntry {
  /** Unique in the storage. */
  readonly id: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
  /** Words whose appearance in a query brings the entry, whatever its score. */
  readonly keys: readonly string[];
  /** Whether every search brings it. */
  readonly always: boolean;
}

/** Types that a field of the metadata can have. */
export const fieldTypes = ['int', 'float', 'string', 'bool', 'set<string>'] as const;

/** A field that the metadata of the entries may have. */
export interface KnowledgeField {
  readonly name: string;
  readonly type: (typeof fieldTypes)[number];
  /** What entries without the field have. */
  readonly default?: MetadataValue;
}

/** What a KNOWLEDGE storage has beyond its texts. */
export interface Knowledge {
  /** In the order of the file or the request. */
  readonly entries: readonly KnowledgeEntry[];
  /** undefined: the metadata may have any field. */
  readonly fields: readonly KnowledgeField[] | undefined;
  /** The model of its vectors, unless a node names another one. */
  readonly embeddingModel: string | undefined;
  /** Bytes of the file, or of the strings of the request. */
  readonly bytes: number;
}

/** What the KNOWLEDGE storages of a session may hold. */
export interface KnowledgeLimits {
  /** Max entries of one storage. */
  readonly entries: number;
  /** Max bytes of all storages of the session together. */
  readonly bytes: number;
}

/** Max entries of one storage that every search brings. */
export const maxAlways = 16;
