/** Tool declarations: as lists of parameters, and as JSON Schemas. */
export const tools: readonly object[];
/** JSON Schemas of answers. */
export const schemas: readonly object[];
