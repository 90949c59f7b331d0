/** The options of the server that limit memory, as JSON Schemas by name. */
export const memoryOptions = {
  memoryLimit: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'max megabytes of RAM that all models, contexts and caches take together; 0 = no limit',
  },
  vramLimit: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description: 'max megabytes of memory of graphics cards that they take together; 0 = no limit',
  },
} as const;
