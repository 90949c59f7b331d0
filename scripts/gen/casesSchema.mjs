// Generates the editor schema of cases files from the built command line.

/** The text of graphs/tests/cases.schema.json. */
export async function casesSchemaText() {
  const { casesEditorSchema } = await import('../../dist/cli/graphTests/casesSchema.js');
  return `${JSON.stringify(casesEditorSchema(), null, 2)}\n`;
}
